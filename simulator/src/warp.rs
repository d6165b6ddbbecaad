//! The interpreter: one warp, 32 lanes at a time. Diverged lanes become fragments. The fragment furthest behind runs next,
//! and fragments at the same instruction merge. What instructions do is in the modules below, a family each.

mod access;
mod accessor;
mod barrier;
mod calls;
mod collectives;
mod copies;
mod grid_barrier;
mod loop_detection;
mod machine;
mod matrix;
mod not_finite;
mod rows;
mod system;
mod taint;

use crate::config::Checks;
use crate::fault::{Fault, Kind};
use crate::isa::{Carry, Four, One, Three, Two};
use crate::kernel::{CARRY, Inst, Op, ZERO};
use crate::lanes::{Lanes, WARP, lanes, mask_of};
use crate::race::{Moment, ThreadId};
use crate::schedule::Schedule;
use crate::shadowed_buffer::ShadowedBuffer;
use calls::OpenCall;
use copies::Copies;
use loop_detection::LoopDetector;
use machine::stop;
use taint::Taints;

pub use barrier::{complete, deadlock, report_divergence};
pub use grid_barrier::GridBarrier;
pub use machine::{Block, Counters, Machine, Resources, Stop};

/// A warp: its registers, and where its lanes are.
#[derive(Debug, Default)]
pub struct Warp {
    pub registers: Vec<Lanes>,
    pub local: ShadowedBuffer,
    fragments: Vec<Fragment>,
    /// Its number in the block.
    number: usize,
    /// The lanes that have a thread, and those whose thread has not ended.
    threads: u32,
    live: u32,
    taints: Taints,
    /// The lanes for which these registers hold what the steady instructions of this launch compute, and whether that is all of them.
    known: u32,
    knows: bool,
    /// How many warp barriers it has passed.
    step: u32,
    copies: Copies,
    /// The calls of each lane that have not ended, the last one last.
    calls: [Vec<OpenCall>; WARP],
    loop_detector: LoopDetector,
    /// How many instructions it has executed in its block.
    executed: u64,
}

/// Lanes that are at one instruction.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Fragment {
    pc: usize,
    mask: u32,
    state: State,
}

/// Why a fragment does not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Ready,
    /// At the block's barrier of this number.
    Barrier(u8),
    /// Waits for other lanes of its warp to reach this instruction.
    Lanes,
    /// Has asked whether others have done something, and will ask again.
    Polls,
    /// At `bar.warp.sync`: waits for other lanes to reach any.
    Warp,
}

/// Why a fragment stopped running.
enum Pause {
    /// It reached another fragment, or went past it.
    Reached(usize),
    /// Some lanes (the mask) branch to the first; the rest goes on at the second.
    Split(usize, u32, usize),
    Wait(State, usize),
    /// It has looped for long while others of its warp could run.
    Yield(usize),
    Ended,
}

impl Warp {
    /// Sets up the taint of registers, whose values are new.
    pub fn track(&mut self, checks: Checks) {
        self.known = 0;
        let tracked = checks.initialization || checks.arithmetic;
        self.taints.track(if tracked { self.registers.len() } else { 0 });
    }

    /// Forgets the calls that have not ended.
    pub fn clear_calls(&mut self) {
        self.calls.iter_mut().for_each(Vec::clear);
    }

    /// Lanes of `mask` begin the kernel, as warp `number` of their block.
    pub fn begin(&mut self, number: usize, mask: u32) {
        (self.number, self.threads, self.live) = (number, mask, mask);
        (self.knows, self.known) = (mask & !self.known == 0, self.known | mask);
        self.taints.reset();
        (self.step, self.copies, self.loop_detector) = (0, Copies::default(), LoopDetector::default());
        self.executed = 0;
        self.fragments.clear();
        self.fragments.push(Fragment { pc: 0, mask, state: State::Ready });
    }

    /// Whether every thread has ended.
    pub fn ended(&self) -> bool {
        self.live == 0
    }

    /// Runs until every thread has ended or waits for other warps.
    pub fn run(&mut self, machine: &mut Machine) -> Result<(), Fault> {
        let before = machine.executed();
        let ended = self.run_fragments(machine);
        self.executed += machine.executed() - before;
        machine.longest = machine.longest.max(self.executed);
        ended.map_err(|stop| machine.fault(self.number, stop))
    }

    fn run_fragments(&mut self, machine: &mut Machine) -> Result<(), Stop> {
        let mut yielded = 0;
        while let Some(index) = self.next(machine.schedule, yielded) {
            let Fragment { pc, mask, .. } = self.fragments[index];
            let others = self.fragments.iter().enumerate().filter(|(other, _)| *other != index);
            // Fragments behind this one wait; of those ahead, this one meets the nearest.
            let limit = others.map(|(_, other)| other.pc).filter(|&other| other > pc).min().unwrap_or(usize::MAX);
            yielded = 0;
            match self.fragment(machine, pc, mask, limit)? {
                Pause::Reached(pc) => self.fragments[index].pc = pc,
                Pause::Split(to, taken, on) => {
                    self.fragments[index] = Fragment { pc: on, mask: mask & !taken, state: State::Ready };
                    self.fragments.push(Fragment { pc: to, mask: taken, state: State::Ready });
                }
                Pause::Wait(state, pc) => self.fragments[index] = Fragment { pc, mask, state },
                Pause::Yield(pc) => {
                    self.fragments[index].pc = pc;
                    yielded = mask;
                }
                Pause::Ended => {
                    copies::end(self, machine, mask, None)?;
                    self.live &= !mask;
                    self.fragments.swap_remove(index);
                    // Wakes lanes that wait for these.
                    self.wake();
                }
            }
            self.merge();
        }
        Ok(())
    }

    /// Runs the lanes of `mask` from `pc` until they diverge, wait, end, or reach `limit`.
    fn fragment(&mut self, machine: &mut Machine, mut pc: usize, mask: u32, limit: usize) -> Result<Pause, Stop> {
        let kernel = machine.kernel;
        let mut back = 0;
        loop {
            if pc >= limit {
                return Ok(Pause::Reached(pc));
            }
            let inst = &kernel.code[pc];
            if self.taints.any || inst.arithmetic_check.acts() && machine.checks.arithmetic {
                taint::propagate(self, machine, pc, mask);
            }
            if let Some(types) = inst.floats.filter(|_| machine.checks.not_finite) {
                not_finite::check(self, machine, inst, types, mask);
            }
            let registers = &mut self.registers;
            let mut next = pc + 1;
            match inst.op {
                Op::One(f) => one(f, registers, inst, mask),
                Op::Two(f) => two(f, registers, inst, mask),
                Op::Three(f) => three(f, registers, inst, mask),
                Op::Four(f) => four(f, registers, inst, mask),
                Op::Carry(f) => carry(f, registers, inst, mask),
                Op::Enter { block, length } => {
                    machine.enter(inst, block, length, mask)?;
                    if pc == 0 && self.knows {
                        next = kernel.steady.max(next);
                    }
                }
                Op::Nothing => {}
                Op::Goto(to) => next = to as usize,
                Op::If { to, negated, branch } => {
                    match machine.taken(mask_of(&registers[inst.args[0] as usize]), negated, branch, mask) {
                        0 => {}
                        taken if taken == mask => next = to as usize,
                        taken => return Ok(Pause::Split(to as usize, taken, next)),
                    }
                }
                Op::Load { .. } | Op::Store { .. } | Op::Atomic { .. } | Op::Align { .. } => {
                    machine.pc = pc as u32;
                    access::access(self, machine, inst, mask)?;
                    let tells = inst.strength.is_some() && !matches!(inst.op, Op::Load { .. });
                    if tells && machine.takes_turns && machine.schedule.ends_turn(machine.executed()) {
                        return Ok(Pause::Wait(State::Polls, next));
                    }
                }
                Op::Param { .. } => parameter(registers, &machine.launch.params, inst, mask)?,
                Op::Exit => return Ok(Pause::Ended),
                Op::Call { .. } | Op::Return => {
                    let (to, lanes) = calls::transfer(self, machine, inst, pc, mask)?;
                    if lanes != mask {
                        return Ok(Pause::Split(to, lanes, pc));
                    }
                    pc = to;
                    continue;
                }
                _ => {
                    if let Some(pause) = self.rarely(machine, inst, pc, mask)? {
                        return Ok(pause);
                    }
                }
            }
            if next <= pc {
                back += 1;
                if let Some(pause) = loop_detection::jumped_back(self, machine, inst, next, mask, back)? {
                    return Ok(pause);
                }
            }
            pc = next;
        }
    }

    /// Runs an instruction of a kind that few kernels have many of. Apart from the others, so that these need not save what it changes.
    #[inline(never)]
    fn rarely(&mut self, machine: &mut Machine, inst: &Inst, pc: usize, mask: u32) -> Result<Option<Pause>, Stop> {
        let registers = &mut self.registers;
        let [first, d] = [inst.args[0], inst.d].map(|register| register as usize);
        match inst.op {
            Op::CopyAsync { .. } | Op::CommitCopies | Op::AwaitCopies { .. } => {
                machine.pc = pc as u32;
                copies::execute(self, machine, inst, mask)?;
            }
            Op::Fence(scope) => access::fence(self, machine, scope, mask),
            Op::Poll if mask & !mask_of(&registers[first]) != 0 => return Ok(Some(Pause::Wait(State::Polls, pc + 1))),
            Op::ActiveMask => write(&mut registers[d], &[mask.into(); WARP], mask),
            Op::Clock => write(&mut registers[d], &[machine.time(); WARP], mask),
            Op::Shuffle(_) | Op::Gather(_) | Op::Matrix(_) | Op::WarpBarrier | Op::Barrier(_) => {
                machine.pc = pc as u32;
                return Ok(collectives::execute(self, machine, inst, mask)?.map(|state| Pause::Wait(state, pc)));
            }
            Op::Trap(_) | Op::Assert => return Err(system::aborted(self, machine, inst, mask)),
            Op::Allocate | Op::Free => system::heap(self, machine, inst, mask)?,
            Op::Print => system::print(self, machine, inst, mask)?,
            _ => {}
        }
        Ok(None)
    }

    /// The thread of a lane, in this block.
    fn thread(&self, block: u32, lane: usize) -> ThreadId {
        ThreadId { block, thread: (self.number * WARP + lane) as u32 }
    }

    /// How far its threads have come, as far as barriers say it.
    fn moment(&self, machine: &Machine) -> Moment {
        Moment { phase: machine.block.phase, step: self.step, time: 0 }
    }

    /// Whether every living thread waits at a barrier of the block.
    pub fn waits(&self) -> bool {
        self.fragments.iter().all(|fragment| matches!(fragment.state, State::Barrier(_)))
    }

    /// Whether any lanes will ask again whether others have done something.
    pub fn polls(&self) -> bool {
        self.fragments.iter().any(|fragment| fragment.state == State::Polls)
    }

    /// Lets such lanes ask.
    pub fn resume(&mut self) {
        for fragment in self.fragments.iter_mut().filter(|fragment| fragment.state == State::Polls) {
            fragment.state = State::Ready;
        }
    }

    /// The ready fragment that is furthest behind; one that has just yielded comes last.
    fn next(&self, schedule: Schedule, yielded: u32) -> Option<usize> {
        let ready = self.fragments.iter().enumerate().filter(|(_, fragment)| fragment.state == State::Ready);
        ready
            .min_by_key(|(_, fragment)| (fragment.mask & yielded != 0, schedule.rank(fragment.pc)))
            .map(|(index, _)| index)
    }

    /// Wakes fragments that wait for other lanes, to check again.
    fn wake(&mut self) {
        for fragment in &mut self.fragments {
            if matches!(fragment.state, State::Lanes | State::Warp) {
                fragment.state = State::Ready;
            }
        }
    }

    /// Merges fragments at the same instruction. Those that waited there check again.
    fn merge(&mut self) {
        let mut index = 0;
        while index + 1 < self.fragments.len() {
            let Fragment { pc, state, .. } = self.fragments[index];
            let same = |other: &Fragment| {
                let elsewhere = |state: State| !matches!(state, State::Barrier(_) | State::Polls);
                other.pc == pc && (other.state == state || elsewhere(state) && elsewhere(other.state))
            };
            match self.fragments[index + 1..].iter().position(same) {
                Some(place) => {
                    let other = self.fragments.swap_remove(index + 1 + place);
                    let merged = &mut self.fragments[index];
                    merged.mask |= other.mask;
                    merged.state = if let State::Barrier(_) = state { state } else { State::Ready };
                }
                None => index += 1,
            }
        }
    }
}

#[inline]
fn one(f: One, registers: &mut [Lanes], inst: &Inst, mask: u32) {
    let [a, d] = [inst.args[0], inst.d].map(|register| register as usize);
    match registers.get_disjoint_mut([d, a]) {
        Ok([d, a]) if mask == u32::MAX => f(a, d),
        _ => blend(registers, d, mask, |registers, out| f(&registers[a], out)),
    }
}

#[inline]
fn two(f: Two, registers: &mut [Lanes], inst: &Inst, mask: u32) {
    let [a, b, d] = [inst.args[0], inst.args[1], inst.d].map(|register| register as usize);
    match registers.get_disjoint_mut([d, a, b]) {
        Ok([d, a, b]) if mask == u32::MAX => f(a, b, d),
        _ => blend(registers, d, mask, |registers, out| f(&registers[a], &registers[b], out)),
    }
}

#[inline]
fn three(f: Three, registers: &mut [Lanes], inst: &Inst, mask: u32) {
    let [a, b, c, d] = [inst.args[0], inst.args[1], inst.args[2], inst.d].map(|register| register as usize);
    match registers.get_disjoint_mut([d, a, b, c]) {
        Ok([d, a, b, c]) if mask == u32::MAX => f(a, b, c, d),
        _ => blend(registers, d, mask, |registers, out| f(&registers[a], &registers[b], &registers[c], out)),
    }
}

fn four(f: Four, registers: &mut [Lanes], inst: &Inst, mask: u32) {
    let [a, b, c, e] = inst.args.map(|register| register as usize);
    blend(registers, inst.d as usize, mask, |registers, out| {
        f(&registers[a], &registers[b], &registers[c], &registers[e], out);
    });
}

fn carry(f: Carry, registers: &mut [Lanes], inst: &Inst, mask: u32) {
    let [a, b, c, _] = inst.args.map(|register| &registers[register as usize]);
    let (value, carry) = f(a, b, c, &registers[CARRY as usize]);
    write(&mut registers[inst.d as usize], &value, mask);
    write(&mut registers[CARRY as usize], &carry, mask);
}

/// Reads parameters, at the addresses in a register: all lanes the same unless a parameter is indexed.
#[inline(never)]
fn parameter(registers: &mut [Lanes], params: &[u8], inst: &Inst, mask: u32) -> Result<(), Stop> {
    let Op::Param { bytes, signed } = inst.op else { unreachable!("no parameter is read") };
    let [base, d] = [inst.args[0], inst.d].map(|register| register as usize);
    let read = |base: u64, mask: u32| {
        let at = usize::try_from(base.wrapping_add_signed(inst.offset)).unwrap_or(usize::MAX);
        let Some(found) = at.checked_add(bytes.into()).and_then(|end| params.get(at..end)) else {
            let detail = "Invalid __param__ read of a parameter that was not passed".to_string();
            return Err(stop(Kind::OutOfWindow, inst, mask, detail));
        };
        let mut wide = [0; 8];
        wide[..found.len()].copy_from_slice(found);
        Ok(extend(u64::from_le_bytes(wide), bytes, signed))
    };
    if inst.args[0] == ZERO {
        write(&mut registers[d], &[read(0, mask)?; WARP], mask);
        return Ok(());
    }
    let mut values = [0; WARP];
    for lane in lanes(mask) {
        values[lane] = read(registers[base][lane], 1 << lane)?;
    }
    write(&mut registers[d], &values, mask);
    Ok(())
}

/// Computes a register that may also be a source, and writes the lanes of `mask`.
#[inline(never)]
fn blend(registers: &mut [Lanes], d: usize, mask: u32, compute: impl FnOnce(&[Lanes], &mut Lanes)) {
    let mut value = [0; WARP];
    compute(registers, &mut value);
    write(&mut registers[d], &value, mask);
}

#[inline(never)]
fn write(register: &mut Lanes, value: &Lanes, mask: u32) {
    if mask == u32::MAX {
        *register = *value;
        return;
    }
    for lane in 0..WARP {
        let keep = u64::from(mask >> lane & 1).wrapping_sub(1);
        register[lane] = register[lane] & keep | value[lane] & !keep;
    }
}

fn extend(value: u64, bytes: u8, signed: bool) -> u64 {
    let unused = 64 - 8 * u32::from(bytes);
    if signed { ((value << unused) as i64 >> unused) as u64 } else { value }
}
