//! Detects races: which access touched each cell of memory last in this launch, and whether an access now is ordered after
//! it by its thread, by a barrier of the block, or by one of the warp. The stream orders accesses of different launches. Kernels with
//! other means of order have [`ExactCells`] and an [`Order`].

mod clock;
mod exact;
mod order;
mod packed;
mod stamp;

use crate::fault::Missing;
use crate::isa::Scope;
use crate::row::Row;
use exact::ExactCells;
use packed::PackedCells;

pub use clock::{Moment, ThreadId};
pub use order::{Order, Site};
pub use stamp::EPOCHS;

/// An access: one warp executing one instruction at one time.
#[derive(Debug, Clone, Copy)]
pub struct Accessor<'a> {
    /// The launch.
    pub epoch: u32,
    /// The block, linear.
    pub block: u32,
    /// The warp of the block.
    pub warp: u32,
    /// Barriers that the block has passed.
    pub phase: u32,
    /// Barriers that the warp has passed.
    pub step: u32,
    /// The instruction.
    pub pc: u32,
    /// The threads with whose accesses it does not race if theirs are strong too: those of an atomic, ordered or volatile access.
    pub strong: Option<Scope>,
    /// What else orders accesses, if the kernel has other means than barriers.
    pub order: Option<&'a Order>,
}

impl Accessor<'_> {
    /// The thread of a lane.
    pub fn thread(&self, lane: usize) -> ThreadId {
        ThreadId { block: self.block, thread: self.warp << 5 | lane as u32 }
    }
}

/// The earlier access of a race.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EarlierAccess {
    /// Whether it wrote.
    pub write: bool,
    /// Its instruction.
    pub pc: u32,
    /// Its block, linear.
    pub block: u32,
    /// Its thread in the block.
    pub thread: u32,
    /// What would have ordered the two, had it been there.
    pub missing: Option<Missing>,
}

/// The cells of one buffer, each as large as the smallest access so far.
#[derive(Debug, Default)]
pub struct Cells {
    packed: PackedCells,
    exact: ExactCells,
}

impl Cells {
    /// Forgets all accesses.
    pub fn clear(&mut self) {
        self.packed.clear();
        self.exact.clear();
    }

    /// Makes cells of at most `bytes` for `length` bytes.
    #[inline]
    pub fn prepare(&mut self, length: usize, bytes: usize, accessor: &Accessor) {
        if accessor.order.is_some() { self.exact.prepare(length, bytes) } else { self.packed.prepare(length, bytes) }
    }

    /// Records a read; returns the write that it is not ordered after.
    #[inline]
    pub fn read(&mut self, start: usize, bytes: usize, lane: usize, accessor: &Accessor) -> Option<EarlierAccess> {
        match accessor.order {
            Some(order) => self.exact.read(start, bytes, lane, accessor, order),
            None => self.packed.access(start, bytes, lane, false, accessor),
        }
    }

    /// Records a write; returns the access that it is not ordered after.
    #[inline]
    pub fn write(&mut self, start: usize, bytes: usize, lane: usize, accessor: &Accessor) -> Option<EarlierAccess> {
        match accessor.order {
            Some(order) => self.exact.write(start, bytes, lane, accessor, order),
            None => self.packed.access(start, bytes, lane, true, accessor),
        }
    }

    /// Records what lanes access in a row, or read at one place. False if nothing was recorded, because it may be a race or the kernel has
    /// other means of order.
    pub fn access_row(&mut self, row: &Row, write: bool, accessor: &Accessor) -> bool {
        accessor.order.is_none()
            && if row.step == 0 {
                self.packed.read_one(row, accessor)
            } else {
                self.packed.access_row(row, write, accessor)
            }
    }
}
