//! Detects races: which access touched each cell of memory last in this launch, and whether an access now is ordered after
//! it by its thread, by a barrier of the block, or by one of the warp. The stream orders accesses of different launches. Kernels with
//! other means of order have [`ExactCells`] and an [`Order`].

mod clock;
mod exact;
mod order;
mod packed;
mod stamp;

use std::ops::Range;

use crate::fault::Missing;
use crate::isa::Scope;
use crate::row::Row;
use exact::{ExactCells, Mark};
use packed::PackedCells;
use stamp::{At, Stamp};

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

/// The size of cells: a power of two, as its exponent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct CellSize(u32);

impl CellSize {
    /// That of accesses of so many bytes.
    fn of(bytes: usize) -> Self {
        Self(bytes.trailing_zeros())
    }

    /// How many cells of this size are a larger one.
    fn parts_of(self, larger: Self) -> usize {
        1 << (larger.0 - self.0)
    }

    /// How many cells so many bytes have.
    fn count(self, length: usize) -> usize {
        length.div_ceil(1 << self.0)
    }

    /// The cell of a byte.
    fn cell(self, byte: usize) -> usize {
        byte >> self.0
    }

    /// The cells of an access.
    fn cells(self, start: usize, bytes: usize) -> Range<usize> {
        self.cell(start)..self.count(start + bytes)
    }
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

    /// Records reads or writes of `bytes` bytes, by lanes and where each begins. Calls `races` with the accesses that they are not ordered
    /// after.
    #[inline]
    pub fn access(
        &mut self,
        lanes: impl Iterator<Item = (usize, usize)>,
        bytes: usize,
        write: bool,
        accessor: &Accessor,
        mut races: impl FnMut(usize, EarlierAccess),
    ) {
        let mut found = |lane: usize, race: Option<EarlierAccess>| race.into_iter().for_each(|race| races(lane, race));
        if let Some(order) = accessor.order {
            for (lane, start) in lanes {
                found(lane, self.exact.access(start, bytes, write, &Mark::new(accessor, lane, order), order));
            }
        } else {
            let (now, at) = (Stamp::new(accessor, 0), At::new(accessor));
            for (lane, start) in lanes {
                found(lane, self.packed.access(start, bytes, write, now.of_lane(lane), at));
            }
        }
    }

    /// Records the rows of one access, if they are permitted. False if nothing was recorded, because it may be a race or the kernel has
    /// other means of order.
    pub fn access_rows(&mut self, rows: &[Row], write: bool, accessor: &Accessor) -> bool {
        if accessor.order.is_some() {
            return false;
        }
        if let [row] = rows {
            return self.packed.access_row(row, write, accessor);
        }
        let are_permitted = rows.iter().all(|row| self.packed.permits_row(row, write, accessor));
        if are_permitted {
            for row in rows {
                self.packed.record_row(row, write, accessor);
            }
        }
        are_permitted
    }
}
