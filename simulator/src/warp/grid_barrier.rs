//! The barrier of a grid, where the blocks of a cooperative launch meet: a word in memory to which the first thread of each block
//! adds its share, and whose highest bit it then waits to see flipped.

use crate::isa::Space;
use crate::kernel::{Inst, Op};
use crate::lanes::Lanes;

/// The barrier of a grid.
#[derive(Debug)]
pub struct GridBarrier {
    address: u64,
    /// The instruction by which a warp has just asked whether all have arrived.
    asked: Option<u32>,
}

impl GridBarrier {
    /// The bytes of a workspace: its size, and the word of the barrier.
    pub const WORKSPACE: u64 = 8;

    /// That of a workspace that is all zero.
    pub fn new(workspace: u64) -> Self {
        Self { address: workspace + 4, asked: None }
    }

    /// Keeps whether the access that the instruction at `pc` makes asks whether all blocks have arrived.
    pub(super) fn accessed(&mut self, pc: u32, inst: &Inst, space: Space, at: &Lanes, mask: u32) {
        let is_there = space == Space::Global && at[mask.trailing_zeros() as usize] == self.address;
        self.asked = Some(pc).filter(|_| is_there && matches!(inst.op, Op::Load { .. }));
    }

    /// Whether a jump back to `pc` is that of a loop that asks this and does nothing else.
    pub(super) fn is_asked_again(&mut self, pc: usize) -> bool {
        self.asked.take().is_some_and(|asked| asked as usize >= pc)
    }

    /// What follows is no longer part of such a loop.
    pub(super) fn leave(&mut self) {
        self.asked = None;
    }
}
