//! Jitter: a seed varies what the ISA leaves open. Approximations move within their documented bounds, products and
//! sums that may be fused are fused or not, products of matrices may add in single precision, and warps and diverged lanes run in
//! another order. A kernel whose result depends on it is fragile.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The process's seed; 0 means no jitter. Instructions are plain functions, so that the seed is global.
static SEED: AtomicU64 = AtomicU64::new(0);

/// Whether each launch has a seed of its own.
static VARIES: AtomicBool = AtomicBool::new(false);

/// How far an approximation may be off.
#[derive(Debug, Clone, Copy)]
pub enum Bound {
    /// Units in the last place, from the correctly rounded result.
    Ulps(u8),
    /// From the exact result.
    Absolute(f64),
}

/// Sets the seed of all devices of the process, and whether the seed `varies` from launch to launch.
pub fn set(seed: Option<u64>, varies: bool) {
    SEED.store(seed.map_or(0, |seed| mix(seed) | 1), Ordering::Relaxed);
    VARIES.store(varies, Ordering::Relaxed);
}

/// Begins a launch, or the call of a library.
pub fn next_launch() {
    if VARIES.load(Ordering::Relaxed) {
        SEED.store(mix(seed()) | 1, Ordering::Relaxed);
    }
}

fn seed() -> u64 {
    SEED.load(Ordering::Relaxed)
}

/// The result of an approximation whose exact value is `exact`: within its bound, and exact if the format has that number.
pub fn approximate(exact: f64, bound: impl FnOnce() -> Bound) -> f32 {
    moved(seed(), exact, bound)
}

fn moved(seed: u64, exact: f64, bound: impl FnOnce() -> Bound) -> f32 {
    let nearest = exact as f32;
    if seed == 0 || !nearest.is_normal() || f64::from(nearest) == exact {
        return nearest;
    }
    let (low, high) = match bound() {
        Bound::Ulps(ulps) => {
            let end = |step: fn(f32) -> f32| (0..ulps).fold(nearest, |at, _| step(at));
            (end(f32::next_down), end(f32::next_up))
        }
        Bound::Absolute(error) => {
            let (low, high) = ((exact - error) as f32, (exact + error) as f32);
            let low = if f64::from(low) < exact - error { low.next_up() } else { low };
            (low, if f64::from(high) > exact + error { high.next_down() } else { high })
        }
    };
    let share = (mix(seed ^ u64::from(nearest.to_bits())) >> 11) as f64 / (1_u64 << 53) as f64;
    let moved = (f64::from(high) - f64::from(low)).mul_add(share, f64::from(low)) as f32;
    // A bound of less than half a unit allows the nearest number only.
    if low <= high && moved.is_normal() { moved.clamp(low, high) } else { nearest }
}

/// Whether an optional step, such as fusing a product with the sum after it, is done for this value.
pub fn does(bits: u64) -> bool {
    match seed() {
        0 => false,
        seed => mix(seed ^ bits) & 1 == 1,
    }
}

/// Which of `count` ways a library, or a matrix instruction, goes about its sums: the first without a seed.
pub fn way(count: u64) -> u64 {
    match seed() {
        0 => 0,
        seed => mix(seed ^ count) % count,
    }
}

/// `exact` without the bits that do not fit, as tensor cores round their sums (Fasi et al., "Numerical behavior of NVIDIA tensor
/// cores", `PeerJ` Computer Science 7:e330, 2021).
pub fn cut_off(exact: f64) -> f32 {
    let nearest = exact as f32;
    let is_beyond = f64::from(nearest).abs() > exact.abs();
    match () {
        () if !is_beyond => nearest,
        () if nearest > 0.0 => nearest.next_down(),
        () => nearest.next_up(),
    }
}

/// How many partial sums a library makes of a long sum.
pub fn partial_sums() -> usize {
    match seed() {
        0 => 1,
        seed => 1 << (mix(seed) % 4),
    }
}

/// Which of `count` things, such as warps, has a turn of a round: each once, and in order without a seed.
pub fn scheduled(turn: usize, count: usize, round: u64) -> usize {
    turned(seed(), turn, count, round)
}

/// The same by a seed.
pub fn turned(seed: u64, turn: usize, count: usize, round: u64) -> usize {
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
    match seed() {
        0 => pc as u64,
        seed => mix(seed ^ pc as u64),
    }
}

/// A hash finalizer with good avalanche (Steele et al., "Fast splittable pseudorandom number generators").
pub fn mix(seed: u64) -> u64 {
    let z = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ z >> 31
}

#[cfg(test)]
mod tests {
    use super::{Bound, cut_off, moved, turned};

    #[test]
    fn without_a_seed_nothing_moves() {
        assert_eq!(moved(0, 1.0 / 3.0, || Bound::Ulps(2)).to_bits(), (1f32 / 3.0).to_bits());
        assert!((0..9).all(|turn| turned(0, turn, 9, 4) == turn));
    }

    #[test]
    fn an_approximation_moves_within_its_bound_and_reaches_it() {
        let nearest = (1f32 / 3.0).to_bits();
        let steps =
            (1..200).map(|seed| i64::from(moved(seed, 1.0 / 3.0, || Bound::Ulps(2)).to_bits()) - i64::from(nearest));
        let steps: std::collections::BTreeSet<i64> = steps.collect();
        assert_eq!(steps, (-2..=2).collect());
    }

    #[test]
    fn an_absolute_bound_holds_on_both_sides_and_across_zero() {
        let moved = |seed| f64::from(moved(seed, 1e-8, || Bound::Absolute(1e-7)));
        let all: Vec<f64> = (1..500).map(moved).collect();
        assert!(all.iter().all(|value| (value - 1e-8).abs() <= 1e-7));
        assert!(all.iter().any(|value| *value < -8e-8) && all.iter().any(|value| *value > 1e-7));
    }

    #[test]
    fn exact_results_and_nan_do_not_move() {
        for exact in [0.5, 0.0, f64::INFINITY] {
            assert!((1..50).all(|seed| f64::from(moved(seed, exact, || Bound::Ulps(2))) == exact));
        }
        assert!(moved(3, f64::NAN, || Bound::Ulps(2)).is_nan());
    }

    #[test]
    fn a_sum_that_is_cut_off_is_never_farther_from_zero() {
        let above = f64::from(1f32.next_up());
        for (exact, cut) in [(above, above), (above - 1e-12, 1.0), (1.0 - above, 1.0 - above), (-above + 1e-12, -1.0)] {
            assert_eq!(f64::from(cut_off(exact)).to_bits(), cut.to_bits(), "{exact}");
        }
        assert_eq!(cut_off(1e300), f32::MAX);
        assert!(cut_off(f64::NAN).is_nan() && cut_off(f64::INFINITY).is_infinite());
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
