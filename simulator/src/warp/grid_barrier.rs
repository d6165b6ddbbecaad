//! The barrier of a grid, where the blocks of a cooperative launch meet: a word in memory to which the first thread of each block
//! adds its share, and whose highest bit it then waits to see flipped. Everything before that flip is ordered before everything
//! that follows it.

use super::Machine;
use crate::isa::Space;
use crate::kernel::{Inst, Op};
use crate::lanes::Lanes;

/// The barrier of a grid.
#[derive(Debug)]
pub struct GridBarrier {
    address: u64,
    /// Whether its highest bit is set.
    flipped: bool,
    /// The instruction by which a warp has just asked whether all have arrived.
    asked: Option<u32>,
}

impl GridBarrier {
    /// The bytes of a workspace: its size, and the word of the barrier.
    pub const WORKSPACE: u64 = 8;

    /// That of a workspace that is all zero.
    pub fn new(workspace: u64) -> Self {
        Self { address: workspace + 4, flipped: false, asked: None }
    }
}

impl Machine<'_> {
    /// Whether an access is one to the barrier of the grid. Keeps whether it asks.
    pub(super) fn is_at_grid_barrier(&mut self, inst: &Inst, space: Space, at: &Lanes, mask: u32) -> bool {
        let Some(barrier) = &mut self.grid_barrier else { return false };
        let is_there = space == Space::Global && at[mask.trailing_zeros() as usize] == barrier.address;
        barrier.asked = Some(self.pc).filter(|_| is_there && matches!(inst.op, Op::Load { .. }));
        is_there
    }

    /// Whether the present access asks whether all blocks have arrived.
    pub(super) fn asks_grid_barrier(&self) -> bool {
        self.grid_barrier.as_ref().is_some_and(|barrier| barrier.asked.is_some())
    }

    /// Whether a jump back to `pc` is that of a loop that asks this and does nothing else.
    pub(super) fn asks_again(&mut self, pc: usize) -> bool {
        let asked = self.grid_barrier.as_mut().and_then(|barrier| barrier.asked.take());
        asked.is_some_and(|asked| asked as usize >= pc)
    }

    /// What follows is no longer part of such a loop.
    pub(super) fn leave_grid_barrier(&mut self) {
        if let Some(barrier) = &mut self.grid_barrier {
            barrier.asked = None;
        }
    }

    /// Looks whether the access that was just made completes the barrier.
    pub(super) fn update_grid_barrier(&mut self) {
        let Some(barrier) = &mut self.grid_barrier else { return };
        let highest = self.memory.bytes(barrier.address + 3, 1).is_ok_and(|byte| byte[0] >> 7 == 1);
        if highest != barrier.flipped {
            barrier.flipped = highest;
            self.epoch = self.memory.next_epoch();
            // What it learned orders it after accesses that all are before this.
            self.block.has_acquired = false;
        }
    }
}
