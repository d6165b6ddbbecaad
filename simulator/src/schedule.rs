//! The order in which blocks, warps and diverged lanes run where nothing else decides it.

use crate::jitter::{self, mix, turned};

/// An order, by number: 0 is the usual one, which jitter varies; 1 is the reverse; others are mixed, with turns that end early.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Schedule(pub u64);

impl Schedule {
    /// Which of `count` warps, or blocks that take turns, has this turn of a round: each once.
    pub fn turn(self, turn: usize, count: usize, round: u64) -> usize {
        match self.0 {
            0 => jitter::scheduled(turn, count, round),
            1 => count - 1 - turn,
            order => turned(mix(order) | 1, turn, count, round),
        }
    }

    /// Which of the `count` blocks of a grid runs now: each once.
    pub fn block(self, turn: u64, count: u64) -> u64 {
        // Jitter leaves blocks in their order.
        if self.0 == 0 { turn } else { self.turn(turn as usize, count as usize, 0) as u64 }
    }

    /// The rank of a fragment at this instruction: the least runs first.
    pub fn rank(self, pc: usize) -> u64 {
        match self.0 {
            0 | 1 => jitter::rank(pc),
            order => mix(mix(order) ^ pc as u64),
        }
    }

    /// Whether a warp lets others run after it has told them something. `moment` differs each time.
    pub fn ends_turn(self, moment: u64) -> bool {
        self.0 > 1 && mix(self.0 ^ moment) & 1 == 0
    }
}

#[cfg(test)]
mod tests {
    use super::Schedule;

    #[test]
    fn each_order_has_every_block_once_and_they_differ() {
        let orders: Vec<Vec<u64>> =
            (1..4).map(|order| (0..6).map(|turn| Schedule(order).block(turn, 6)).collect()).collect();
        assert_eq!(orders[0], [5, 4, 3, 2, 1, 0]);
        for order in &orders {
            let mut all = order.clone();
            all.sort_unstable();
            assert_eq!(all, [0, 1, 2, 3, 4, 5]);
        }
        assert!(orders[1] != orders[0] && orders[2] != orders[1]);
    }
}
