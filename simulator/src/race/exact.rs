//! Races in kernels whose threads order their accesses by more than barriers of the whole block: each cell of memory keeps who wrote it
//! last and who has read it since, and an [`Order`] says who comes after whom.

use super::clock::{Moment, ThreadId};
use super::order::Order;
use super::{Accessor, CellSize, EarlierAccess};
use crate::fault::Missing;
use crate::isa::Scope;

/// The readers, and the writers by atomics, that a cell keeps: the last ones. A race with another goes unseen.
const KEPT: usize = 32;

/// An access.
#[derive(Debug, Clone, Copy)]
pub struct Mark {
    epoch: u32,
    by: ThreadId,
    at: Moment,
    pc: u32,
    strong: Option<Scope>,
}

#[derive(Debug, Clone, Default)]
struct Cell {
    /// The last write, and those before that may happen at the same time: all are strong.
    writes: Vec<Mark>,
    reads: Vec<Mark>,
}

/// The cells of one buffer.
#[derive(Debug, Default)]
pub struct ExactCells {
    size: CellSize,
    marked: Vec<Cell>,
}

impl ExactCells {
    /// Forgets all accesses.
    pub fn clear(&mut self) {
        self.marked = Vec::new();
    }

    /// Makes cells of at most `bytes` for `length` bytes.
    pub fn prepare(&mut self, length: usize, bytes: usize) {
        let wanted = CellSize::of(bytes);
        if self.marked.is_empty() {
            self.size = wanted;
        }
        if wanted < self.size {
            let parts = wanted.parts_of(self.size);
            self.marked = self.marked.drain(..).flat_map(|cell| std::iter::repeat_n(cell, parts)).collect();
            self.size = wanted;
        }
        let count = self.size.count(length);
        if self.marked.len() < count {
            self.marked.resize(count, Cell::default());
        }
    }

    /// Records an access of one lane; returns an access that it is not ordered after.
    pub fn access(
        &mut self,
        start: usize,
        bytes: usize,
        write: bool,
        now: &Mark,
        order: &Order,
    ) -> Option<EarlierAccess> {
        let mut race = None;
        for cell in &mut self.marked[self.size.cells(start, bytes)] {
            race = race.or_else(|| cell.race(write, now, order));
            cell.record(write, now);
        }
        race
    }
}

impl Cell {
    /// The access that a read, or a write, is not ordered after.
    fn race(&self, write: bool, now: &Mark, order: &Order) -> Option<EarlierAccess> {
        let of_write = self.writes.iter().find_map(|write| write.races(now, true, order));
        let of_read = || self.reads.iter().filter(|_| write).find_map(|read| read.races(now, false, order));
        of_write.or_else(of_read)
    }

    /// Records a read, or a write. A strong access does not hide a weaker one that its own thread made before.
    fn record(&mut self, write: bool, now: &Mark) {
        let is_weaker = |of: &Mark| of.by == now.by && now.strong > of.strong;
        self.writes.retain(|of| of.epoch == now.epoch);
        self.reads
            .retain(|of| of.epoch == now.epoch && if write { is_weaker(of) } else { of.by != now.by || is_weaker(of) });
        if write {
            self.writes.retain(|of| is_weaker(of) || of.by != now.by && of.may_meet(now));
            keep(&mut self.writes, *now);
        } else {
            keep(&mut self.reads, *now);
        }
    }
}

/// Adds a mark, in place of the first if there are too many.
fn keep(marks: &mut Vec<Mark>, now: Mark) {
    if marks.len() >= KEPT {
        marks.remove(0);
    }
    marks.push(now);
}

impl Mark {
    pub fn new(accessor: &Accessor, lane: usize, order: &Order) -> Self {
        let by = accessor.thread(lane);
        let at = Moment { phase: accessor.phase, step: accessor.step, time: order.time(by) };
        Self { epoch: accessor.epoch, by, at, pc: accessor.pc, strong: accessor.strong }
    }

    /// Whether it and another may happen at the same time (PTX ISA 8.7.1, "morally strong").
    fn may_meet(&self, other: &Self) -> bool {
        let wide = |(one, other): (Scope, Scope)| one.min(other) == Scope::Device;
        self.strong.zip(other.strong).is_some_and(|scopes| self.by.block == other.by.block || wide(scopes))
    }

    /// This access, if a later one is not ordered after it.
    fn races(&self, now: &Self, write: bool, order: &Order) -> Option<EarlierAccess> {
        if self.epoch != now.epoch || self.by == now.by || self.may_meet(now) {
            return None;
        }
        let same_block = self.by.block == now.by.block;
        let same_warp = same_block && self.by.thread / 32 == now.by.thread / 32;
        if same_block && self.at.phase != now.at.phase
            || same_warp && self.at.step != now.at.step
            || order.knows(now.by, self.by, self.at)
        {
            return None;
        }
        let missing = if self.strong.is_some() && now.strong.is_some() {
            Some(Missing::Scope)
        } else {
            order.missing(now.by, self.by, self.at)
        };
        Some(EarlierAccess { write, pc: self.pc, block: self.by.block, thread: self.by.thread, missing })
    }
}
