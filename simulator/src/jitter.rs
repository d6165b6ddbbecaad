//! Jitter: a seed varies what the ISA leaves open. Approximations move within their documented bounds, and warps and
//! diverged lanes run in another order. A kernel whose result depends on it is fragile.

use std::sync::atomic::{AtomicU64, Ordering};

/// The process's seed; 0 means no jitter. Instructions are plain functions, so that the seed is global.
static SEED: AtomicU64 = AtomicU64::new(0);

/// Sets the seed of all devices of the process.
pub fn set(seed: Option<u64>) {
    SEED.store(seed.map_or(0, |seed| mix(seed) | 1), Ordering::Relaxed);
}

/// The result of an approximation whose exact value is `exact`: at most `ulps` from it, and exact if the format has that
/// number.
pub fn approximate(exact: f64, ulps: i64) -> f32 {
    moved(SEED.load(Ordering::Relaxed), exact, ulps)
}

fn moved(seed: u64, exact: f64, ulps: i64) -> f32 {
    let nearest = exact as f32;
    if seed == 0 || !nearest.is_normal() || f64::from(nearest) == exact {
        return nearest;
    }
    let steps = (mix(seed ^ u64::from(nearest.to_bits())) % (2 * ulps as u64 + 1)) as i64 - ulps;
    let moved = f32::from_bits((i64::from(nearest.to_bits()) + steps) as u32);
    if moved.is_normal() { moved } else { nearest }
}

/// Which of `count` warps runs in a turn of a round: each once, and in order without a seed.
pub fn scheduled_warp(turn: usize, count: usize, round: u64) -> usize {
    turned(SEED.load(Ordering::Relaxed), turn, count, round)
}

fn turned(seed: u64, turn: usize, count: usize, round: u64) -> usize {
    match seed {
        0 => turn,
        // Starts at any of them, forwards or backwards.
        seed => {
            let chance = mix(seed ^ round);
            let turn = if chance & 1 == 0 { turn } else { count - 1 - turn };
            (turn + (chance >> 8) as usize % count) % count
        }
    }
}

/// The rank of a fragment at this instruction: the least runs first.
pub fn rank(pc: usize) -> u64 {
    match SEED.load(Ordering::Relaxed) {
        0 => pc as u64,
        seed => mix(seed ^ pc as u64),
    }
}

/// A hash finalizer with good avalanche (Steele et al., "Fast splittable pseudorandom number generators").
fn mix(seed: u64) -> u64 {
    let z = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ z >> 31
}

#[cfg(test)]
mod tests {
    use super::{moved, turned};

    #[test]
    fn without_a_seed_nothing_moves() {
        assert_eq!(moved(0, 1.0 / 3.0, 2).to_bits(), (1f32 / 3.0).to_bits());
        assert!((0..9).all(|turn| turned(0, turn, 9, 4) == turn));
    }

    #[test]
    fn an_approximation_moves_within_its_bound_and_reaches_it() {
        let nearest = (1f32 / 3.0).to_bits();
        let steps = (1..200).map(|seed| i64::from(moved(seed, 1.0 / 3.0, 2).to_bits()) - i64::from(nearest));
        let steps: std::collections::BTreeSet<i64> = steps.collect();
        assert_eq!(steps, (-2..=2).collect());
    }

    #[test]
    fn exact_results_and_nan_do_not_move() {
        for exact in [0.5, 0.0, f64::INFINITY] {
            assert!((1..50).all(|seed| f64::from(moved(seed, exact, 2)) == exact));
        }
        assert!(moved(3, f64::NAN, 2).is_nan());
    }

    #[test]
    fn every_warp_has_its_turn_whatever_the_seed() {
        let orders = (1..50).map(|seed| (0..5).map(|turn| turned(seed, turn, 5, 0)).collect::<Vec<_>>());
        let orders: std::collections::BTreeSet<Vec<usize>> = orders.collect();
        for order in &orders {
            let mut all = order.clone();
            all.sort_unstable();
            assert_eq!(all, [0, 1, 2, 3, 4]);
        }
        assert_eq!(orders.len(), 10, "from each, forwards and backwards");
    }
}
