//! Races in kernels whose threads order their accesses by more than barriers of the whole block: each cell of memory keeps who wrote it
//! last and who has read it since, and a [`Order`] says who comes after whom.

use super::clock::{Moment, ThreadId};
use super::order::Order;
use super::{Accessor, EarlierAccess};
use crate::fault::Missing;
use crate::isa::Scope;

/// The readers that a cell keeps: the last ones. A race with another goes unseen.
const READERS: usize = 32;

/// An access.
#[derive(Debug, Clone, Copy)]
struct Mark {
    epoch: u32,
    by: ThreadId,
    at: Moment,
    pc: u32,
    strong: Option<Scope>,
}

#[derive(Debug, Clone, Default)]
struct Cell {
    write: Option<Mark>,
    reads: Vec<Mark>,
}

/// The cells of one buffer, each as large as the smallest access so far.
#[derive(Debug, Default)]
pub struct ExactCells {
    shift: u32,
    marked: Vec<Cell>,
}

impl ExactCells {
    /// Forgets all accesses.
    pub fn clear(&mut self) {
        self.marked = Vec::new();
    }

    /// Makes cells of at most `bytes` for `length` bytes.
    pub fn prepare(&mut self, length: usize, bytes: usize) {
        let wanted = bytes.trailing_zeros();
        if self.marked.is_empty() {
            self.shift = wanted;
        }
        let shift = wanted.min(self.shift);
        if shift < self.shift {
            let parts = 1 << (self.shift - shift);
            self.marked = self.marked.drain(..).flat_map(|cell| std::iter::repeat_n(cell, parts)).collect();
            self.shift = shift;
        }
        let count = length.div_ceil(1 << shift);
        if self.marked.len() < count {
            self.marked.resize(count, Cell::default());
        }
    }

    /// Records a read; returns the write that it is not ordered after.
    pub fn read(
        &mut self,
        start: usize,
        bytes: usize,
        lane: usize,
        accessor: &Accessor,
        order: &Order,
    ) -> Option<EarlierAccess> {
        let now = Mark::new(accessor, lane, order);
        let mut race = None;
        for cell in &mut self.marked[start >> self.shift..(start + bytes).div_ceil(1 << self.shift)] {
            race = race.or_else(|| cell.write.as_ref().and_then(|write| write.races(&now, true, order)));
            cell.reads.retain(|read| {
                read.epoch == now.epoch && (read.by != now.by || now.strong.is_some() && read.strong.is_none())
            });
            if cell.reads.len() >= READERS {
                cell.reads.remove(0);
            }
            cell.reads.push(now);
        }
        race
    }

    /// Records a write; returns the access that it is not ordered after.
    pub fn write(
        &mut self,
        start: usize,
        bytes: usize,
        lane: usize,
        accessor: &Accessor,
        order: &Order,
    ) -> Option<EarlierAccess> {
        let now = Mark::new(accessor, lane, order);
        let mut race = None;
        for cell in &mut self.marked[start >> self.shift..(start + bytes).div_ceil(1 << self.shift)] {
            race = race
                .or_else(|| cell.write.as_ref().and_then(|write| write.races(&now, true, order)))
                .or_else(|| cell.reads.iter().find_map(|read| read.races(&now, false, order)));
            cell.reads.clear();
            cell.write = Some(now);
        }
        race
    }
}

impl Mark {
    fn new(accessor: &Accessor, lane: usize, order: &Order) -> Self {
        let by = accessor.thread(lane);
        let at = Moment { phase: accessor.phase, step: accessor.step, time: order.time(by) };
        Self { epoch: accessor.epoch, by, at, pc: accessor.pc, strong: accessor.strong }
    }

    /// This access, if a later one is not ordered after it.
    fn races(&self, now: &Self, write: bool, order: &Order) -> Option<EarlierAccess> {
        if self.epoch != now.epoch || self.by == now.by {
            return None;
        }
        let same_block = self.by.block == now.by.block;
        let both_strong = self.strong.zip(now.strong);
        if both_strong.is_some_and(|(one, other)| same_block || one.min(other) == Scope::Device) {
            return None;
        }
        let same_warp = same_block && self.by.thread / 32 == now.by.thread / 32;
        if same_block && self.at.phase != now.at.phase
            || same_warp && self.at.step != now.at.step
            || order.knows(now.by, self.by, self.at)
        {
            return None;
        }
        let missing =
            if both_strong.is_some() { Some(Missing::Scope) } else { order.missing(now.by, self.by, self.at) };
        Some(EarlierAccess { write, pc: self.pc, block: self.by.block, thread: self.by.thread, missing })
    }
}
