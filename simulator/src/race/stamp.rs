//! Accesses packed into few bytes, and which of them are ordered.

use super::{Accessor, EarlierAccess};
use crate::fault::Missing;
use crate::isa::Scope;

/// The bits that a stamp has for a launch, a block, a thread of it and a phase.
const EPOCH_BITS: u32 = 15;
const BLOCK_BITS: u32 = 20;
const THREAD_BITS: u32 = 10;
const PHASE_BITS: u32 = 14;
/// The bits for an instruction, and the step of its warp.
const PC_BITS: u32 = 20;
const STEP_BITS: u32 = 12;

/// The most launches that stamps tell apart; after as many, they are cleared.
pub const EPOCHS: u32 = 1 << EPOCH_BITS;

impl Accessor<'_> {
    /// True if a stamp can hold this access. An access out of range is not checked: its numbers would wrap, and accesses that a
    /// barrier separates would be reported as a race.
    pub fn is_in_range(&self) -> bool {
        self.block < 1 << BLOCK_BITS
            && self.phase < 1 << PHASE_BITS
            && self.step < 1 << STEP_BITS
            && self.pc < 1 << PC_BITS
    }
}

/// An access packed into 8 bytes: launch, block, thread and phase. 0 is no access, as launches count from 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stamp(u64);

const MANY_WARPS: u64 = 1;
const MANY_LANES: u64 = 2;
const MANY_BLOCKS: u64 = 4;
const STRONG: u64 = 8;
/// Strong between the threads of its block alone.
const IN_BLOCK: u64 = 16;

/// The positions of a stamp's parts, above its flags.
const PHASE: u32 = 5;
const THREAD: u32 = PHASE + PHASE_BITS;
const BLOCK: u32 = THREAD + THREAD_BITS;
const EPOCH: u32 = BLOCK + BLOCK_BITS;

impl Stamp {
    pub fn new(accessor: &Accessor, lane: usize) -> Self {
        let thread = u64::from(accessor.warp) << 5 | lane as u64;
        let (epoch, block, phase) = (u64::from(accessor.epoch), u64::from(accessor.block), u64::from(accessor.phase));
        let strong = match accessor.strong {
            None => 0,
            Some(Scope::Block) => STRONG | IN_BLOCK,
            Some(Scope::Device) => STRONG,
        };
        Self(epoch << EPOCH | block << BLOCK | thread << THREAD | phase << PHASE | strong)
    }

    /// The stamp of the lane so many after that of this one.
    pub fn of_lane(self, lane: usize) -> Self {
        Self(self.0 + ((lane as u64) << THREAD))
    }

    fn epoch(self) -> u64 {
        self.0 >> EPOCH
    }

    fn block(self) -> u32 {
        (self.0 >> BLOCK) as u32 & ((1 << BLOCK_BITS) - 1)
    }

    fn thread(self) -> u32 {
        (self.0 >> THREAD) as u32 & ((1 << THREAD_BITS) - 1)
    }

    fn phase(self) -> u64 {
        self.0 >> PHASE & ((1 << PHASE_BITS) - 1)
    }

    fn is(self, flag: u64) -> bool {
        self.0 & flag != 0
    }
}

/// The position of an access: its instruction, and the step of its warp.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct At(u32);

impl At {
    pub fn new(accessor: &Accessor) -> Self {
        Self(accessor.pc | accessor.step << PC_BITS)
    }

    fn pc(self) -> u32 {
        self.0 & ((1 << PC_BITS) - 1)
    }

    fn step(self) -> u32 {
        self.0 >> PC_BITS
    }
}

/// Who wrote a cell last, and who read it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cell {
    write: Stamp,
    read: Stamp,
    write_at: At,
    read_at: At,
}

impl Cell {
    /// The cell that was accessed by the lane so many after that of this one.
    pub fn of_lane(self, lane: usize) -> Self {
        Self { write: self.write.of_lane(lane), read: self.read.of_lane(lane), ..self }
    }

    /// The accesses of one launch.
    #[cfg(test)]
    pub fn in_launch(self, epoch: u32) -> Self {
        let is_now = |stamp: Stamp| stamp.epoch() == u64::from(epoch);
        let (write, write_at) = if is_now(self.write) { (self.write, self.write_at) } else { Default::default() };
        let (read, read_at) = if is_now(self.read) { (self.read, self.read_at) } else { Default::default() };
        Self { write, read, write_at, read_at }
    }

    /// True if the launch of `now` has written it.
    pub fn is_written(&self, now: Stamp) -> bool {
        self.write.epoch() == now.epoch()
    }

    /// True if the launch of `now` has accessed it.
    pub fn is_accessed(&self, now: Stamp) -> bool {
        self.is_written(now) || self.read.epoch() == now.epoch()
    }

    /// The write that a read is not ordered after.
    #[inline]
    fn race_of_read(&self, now: Stamp, at: At) -> Option<EarlierAccess> {
        let races = self.is_written(now) && unseen(self.write, self.write_at, now, at);
        races.then(|| earlier(true, self.write, self.write_at, now))
    }

    /// The access that a write is not ordered after.
    #[inline]
    fn race_of_write(&self, now: Stamp, at: At) -> Option<EarlierAccess> {
        let races = self.read.epoch() == now.epoch() && unseen(self.read, self.read_at, now, at);
        let read = || races.then(|| earlier(false, self.read, self.read_at, now));
        self.race_of_read(now, at).or_else(read)
    }

    /// The access that a read, or a write, is not ordered after.
    #[inline]
    pub fn race(&self, write: bool, now: Stamp, at: At) -> Option<EarlierAccess> {
        if write { self.race_of_write(now, at) } else { self.race_of_read(now, at) }
    }

    /// Records a read, or a write.
    #[inline]
    pub fn record(&mut self, write: bool, now: Stamp, at: At) {
        if !write {
            (self.read, self.read_at) = (together(self.read, self.read_at, now, at), at);
            return;
        }
        if self.is_written(now) && stands_for(self.write, self.write_at, now, at) {
            return;
        }
        // Atomics do not order each other.
        let with_others = may_meet(self.write, now) && self.is_written(now);
        let stamp = if with_others { together(self.write, self.write_at, now, at) } else { now };
        (self.write, self.write_at) = (stamp, at);
    }
}

fn earlier(write: bool, stamp: Stamp, at: At, now: Stamp) -> EarlierAccess {
    let missing = (stamp.is(STRONG) && now.is(STRONG)).then_some(Missing::Scope);
    EarlierAccess { write, pc: at.pc(), block: stamp.block(), thread: stamp.thread(), missing }
}

/// True if two accesses may happen at the same time: both are strong, for threads of which the other is one (PTX ISA 8.7.1,
/// "morally strong").
fn may_meet(before: Stamp, now: Stamp) -> bool {
    let in_block = (before.0 | now.0) & IN_BLOCK != 0;
    before.is(STRONG) && now.is(STRONG) && (!in_block || before.block() == now.block())
}

/// True if an earlier weak write also stands for this strong one: one thread made both, without a barrier between them, so an access that
/// races with the second races with the first. An atomic must not hide its own thread's plain write.
fn stands_for(before: Stamp, before_at: At, now: Stamp, at: At) -> bool {
    let is_same = before.block() == now.block() && before.thread() == now.thread() && before.phase() == now.phase();
    is_same && before_at.step() == at.step() && !before.is(STRONG) && now.is(STRONG)
}

/// Whether two accesses of one launch are unordered.
fn unordered(before: Stamp, before_at: At, now: Stamp, at: At) -> bool {
    if may_meet(before, now) {
        return false;
    }
    if before.block() != now.block() {
        return true;
    }
    if before.thread() == now.thread() || before.phase() != now.phase() {
        return false;
    }
    before.thread() >> 5 != now.thread() >> 5 || before_at.step() == at.step()
}

/// Whether an access is unordered with one of those that a stamp stands for.
fn unseen(before: Stamp, before_at: At, now: Stamp, at: At) -> bool {
    if before.is(MANY_BLOCKS) && !(before.is(STRONG) && now.is(STRONG) && (before.0 | now.0) & IN_BLOCK == 0) {
        return true;
    }
    if unordered(before, before_at, now, at) {
        return true;
    }
    let here = before.block() == now.block() && before.phase() == now.phase() && !may_meet(before, now);
    here && (before.is(MANY_WARPS) || before.is(MANY_LANES) && before_at.step() == at.step())
}

/// The stamp that stands for earlier accesses and a new one: strong only if all of them are.
fn together(before: Stamp, before_at: At, now: Stamp, at: At) -> Stamp {
    if before.epoch() != now.epoch() {
        return now;
    }
    let weakest = |stamp: Stamp| {
        let strong = before.0 & stamp.0 & STRONG;
        Stamp(stamp.0 & !STRONG | strong | before.0 & IN_BLOCK)
    };
    if before.block() != now.block() {
        return weakest(Stamp(now.0 | MANY_BLOCKS));
    }
    let mut flags = before.0 & MANY_BLOCKS;
    if before.phase() != now.phase() {
        let stamp = Stamp(now.0 | flags);
        return if flags == 0 { stamp } else { weakest(stamp) };
    }
    flags |= before.0 & MANY_WARPS;
    let same_warp = before.thread() >> 5 == now.thread() >> 5;
    if !same_warp {
        flags |= MANY_WARPS;
    } else if before_at.step() == at.step() {
        let other = if before.thread() == now.thread() { 0 } else { MANY_LANES };
        flags |= before.0 & MANY_LANES | other;
    } else if flags == 0 {
        return now;
    }
    weakest(Stamp(now.0 | flags))
}

#[cfg(test)]
mod tests {
    use super::{At, BLOCK_BITS, EPOCHS, PC_BITS, PHASE_BITS, STEP_BITS, Stamp};
    use crate::race::Accessor;

    const LAST: Accessor<'static> = Accessor {
        epoch: EPOCHS - 1,
        block: (1 << BLOCK_BITS) - 1,
        warp: 31,
        phase: (1 << PHASE_BITS) - 1,
        step: (1 << STEP_BITS) - 1,
        pc: (1 << PC_BITS) - 1,
        strong: None,
        order: None,
    };

    #[test]
    fn a_stamp_keeps_the_largest_numbers_that_are_in_range() {
        let (stamp, at) = (Stamp::new(&LAST, 31), At::new(&LAST));
        assert_eq!((stamp.epoch(), stamp.phase()), (u64::from(LAST.epoch), u64::from(LAST.phase)));
        assert_eq!((stamp.block(), stamp.thread()), (LAST.block, 1023));
        assert_eq!((at.pc(), at.step()), (LAST.pc, LAST.step));
        assert!(LAST.is_in_range());
    }

    #[test]
    fn larger_numbers_are_out_of_range() {
        for accessor in [
            Accessor { block: LAST.block + 1, ..LAST },
            Accessor { phase: LAST.phase + 1, ..LAST },
            Accessor { step: LAST.step + 1, ..LAST },
            Accessor { pc: LAST.pc + 1, ..LAST },
        ] {
            assert!(!accessor.is_in_range(), "{accessor:?}");
        }
    }
}
