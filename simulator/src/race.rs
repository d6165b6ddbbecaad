//! Detects races: which access touched each cell of memory last in this launch, and whether an access now is ordered after
//! it by its thread, by a barrier of the block, or by one of the warp. The stream orders accesses of different launches. Kernels with
//! other means of order have [`ExactCells`] and an [`Order`].

mod clock;
mod exact;
mod order;

use crate::fault::Missing;
use crate::isa::Scope;
use exact::ExactCells;

pub use clock::{Moment, ThreadId};
pub use order::{Order, Site};

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
    /// The thread of a lane.
    pub fn thread(&self, lane: usize) -> ThreadId {
        ThreadId { block: self.block, thread: self.warp << 5 | lane as u32 }
    }

    /// Whether a stamp can hold this access. One out of range is not checked: its numbers would wrap, and accesses that a
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
struct Stamp(u64);

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
    fn new(accessor: &Accessor, lane: usize) -> Self {
        let thread = u64::from(accessor.warp) << 5 | lane as u64;
        let (epoch, block, phase) = (u64::from(accessor.epoch), u64::from(accessor.block), u64::from(accessor.phase));
        let strong = match accessor.strong {
            None => 0,
            Some(Scope::Block) => STRONG | IN_BLOCK,
            Some(Scope::Device) => STRONG,
        };
        Self(epoch << EPOCH | block << BLOCK | thread << THREAD | phase << PHASE | strong)
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
struct At(u32);

impl At {
    fn new(accessor: &Accessor) -> Self {
        Self(accessor.pc | accessor.step << PC_BITS)
    }

    fn pc(self) -> u32 {
        self.0 & ((1 << PC_BITS) - 1)
    }

    fn step(self) -> u32 {
        self.0 >> PC_BITS
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Cell {
    write: Stamp,
    read: Stamp,
    write_at: At,
    read_at: At,
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
    shift: u32,
    packed: Vec<Cell>,
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
        if accessor.order.is_some() {
            return self.exact.prepare(length, bytes);
        }
        let shift = bytes.trailing_zeros();
        if self.packed.len() << self.shift < length || shift < self.shift {
            self.make(length, shift);
        }
    }

    #[cold]
    fn make(&mut self, length: usize, shift: u32) {
        if self.packed.is_empty() {
            self.shift = shift;
        }
        let shift = shift.min(self.shift);
        let parts = 1 << (self.shift - shift);
        if parts > 1 {
            self.packed = self.packed.iter().flat_map(|&cell| std::iter::repeat_n(cell, parts)).collect();
            self.shift = shift;
        }
        let count = length.div_ceil(1 << shift);
        if self.packed.len() < count {
            self.packed.resize(count, Cell::default());
        }
    }

    /// Records a read; returns the write that it is not ordered after.
    #[inline]
    pub fn read(&mut self, start: usize, bytes: usize, lane: usize, accessor: &Accessor) -> Option<EarlierAccess> {
        if let Some(order) = accessor.order {
            return self.exact.read(start, bytes, lane, accessor, order);
        }
        let (now, at) = (Stamp::new(accessor, lane), At::new(accessor));
        let mut race = None;
        for cell in &mut self.packed[start >> self.shift..(start + bytes).div_ceil(1 << self.shift)] {
            if cell.write.epoch() == now.epoch() && unseen(cell.write, cell.write_at, now, at) {
                race = Some(earlier(true, cell.write, cell.write_at, now));
            }
            (cell.read, cell.read_at) = (together(cell.read, cell.read_at, now, at), at);
        }
        race
    }

    /// Records a write; returns the access that it is not ordered after.
    #[inline]
    pub fn write(&mut self, start: usize, bytes: usize, lane: usize, accessor: &Accessor) -> Option<EarlierAccess> {
        if let Some(order) = accessor.order {
            return self.exact.write(start, bytes, lane, accessor, order);
        }
        let (now, at) = (Stamp::new(accessor, lane), At::new(accessor));
        let mut race = None;
        for cell in &mut self.packed[start >> self.shift..(start + bytes).div_ceil(1 << self.shift)] {
            if cell.read.epoch() == now.epoch() && unseen(cell.read, cell.read_at, now, at) {
                race = Some(earlier(false, cell.read, cell.read_at, now));
            }
            if cell.write.epoch() == now.epoch() && unseen(cell.write, cell.write_at, now, at) {
                race = Some(earlier(true, cell.write, cell.write_at, now));
            }
            // Atomics do not order each other.
            let with_others = may_meet(cell.write, now) && cell.write.epoch() == now.epoch();
            let stamp = if with_others { together(cell.write, cell.write_at, now, at) } else { now };
            (cell.write, cell.write_at) = (stamp, at);
        }
        race
    }
}

fn earlier(write: bool, stamp: Stamp, at: At, now: Stamp) -> EarlierAccess {
    let missing = (stamp.is(STRONG) && now.is(STRONG)).then_some(Missing::Scope);
    EarlierAccess { write, pc: at.pc(), block: stamp.block(), thread: stamp.thread(), missing }
}

/// Whether two accesses may happen at the same time: both are strong, for threads of which the other is one (PTX ISA 8.7.1,
/// "morally strong").
fn may_meet(before: Stamp, now: Stamp) -> bool {
    let in_block = (before.0 | now.0) & IN_BLOCK != 0;
    before.is(STRONG) && now.is(STRONG) && (!in_block || before.block() == now.block())
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
    use super::{Accessor, At, BLOCK_BITS, EPOCHS, PC_BITS, PHASE_BITS, STEP_BITS, Stamp};

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
