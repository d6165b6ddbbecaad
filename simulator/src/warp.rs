//! The interpreter: one warp, 32 lanes at a time. Lanes that part ways become fragments; the one furthest behind runs
//! next, and fragments that come to the same instruction are one again.

mod access;
mod barrier;
mod matrix;
mod meet;
mod note;
mod rounds;
mod taint;

use std::collections::HashMap;

use crate::config::Checks;
use crate::fault::Kind;
use crate::jitter;
use crate::kernel::{CARRY, Do, Inst, Kernel};
use crate::lanes::{Lanes, WARP, mask_of};
use crate::launch::Launch;
use crate::memory::Memory;
use crate::piece::Piece;
use crate::ptx::{Module, Source};
use rounds::Rounds;
use taint::Taint;

pub use barrier::deadlock;

/// Why a fragment does not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Ready,
    /// At a block barrier.
    Barrier,
    /// Waits for other lanes of its warp to come to this instruction.
    Lanes,
    /// At `bar.warp.sync`: waits for other lanes to come to any.
    Warp,
}

/// Lanes that are at one instruction.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Fragment {
    pc: usize,
    mask: u32,
    state: State,
}

/// A warp: its registers, and where its lanes are.
#[derive(Debug, Default)]
pub struct Warp {
    pub registers: Vec<Lanes>,
    pub local: Piece,
    fragments: Vec<Fragment>,
    /// Its number in the block.
    number: usize,
    /// The lanes that have a thread, and those whose thread has not ended.
    born: u32,
    live: u32,
    /// What is doubtful of each register; all zero unless `tainted`.
    taints: Vec<Taint>,
    tainted: bool,
    /// Barriers of this warp that it has passed.
    step: u32,
    rounds: Rounds,
}

/// What all warps of a launch share.
pub struct Machine<'a> {
    pub kernel: &'a Kernel,
    pub module: &'a Module,
    pub memory: &'a mut Memory,
    pub shared: Piece,
    pub params: &'a [u8],
    pub launch: &'a Launch,
    pub checks: Checks,
    /// The instruction that accesses memory.
    pub pc: u32,
    /// The launch's number.
    pub epoch: u32,
    /// The block's number in the launch, and how many barriers it has passed.
    pub block: u32,
    pub phase: u32,
    /// Whether the block has looked at a lock or flag.
    pub acquainted: bool,
    /// Whether the launch has one warp.
    pub alone: bool,
    /// What has happened so far by which threads can learn of each other.
    pub effects: u64,
    /// Where undefined bytes were read last, by the instruction that read them: address and what lies there.
    pub origins: HashMap<u32, (u64, String)>,
    /// Warp instructions left.
    pub budget: u64,
    /// How often each block was entered.
    pub blocks: &'a mut [u64],
    /// How often each branch was not taken, and taken.
    pub branches: &'a mut [[u64; 2]],
    /// What was found that does not end the launch: the warp's number, and what.
    pub reports: Vec<(usize, Stop)>,
}

impl Machine<'_> {
    /// Keeps what ends nothing, once for each instruction: a loop may do it again and again.
    pub fn report(&mut self, warp: usize, found: Stop) {
        let same = |(_, known): &(usize, Stop)| known.kind == found.kind && known.source == found.source;
        if !self.reports.iter().any(same) {
            self.reports.push((warp, found));
        }
    }
}

/// A fault before it is known whose.
#[derive(Debug)]
pub struct Stop {
    pub kind: Kind,
    pub lane: usize,
    pub source: Source,
    pub address: Option<u64>,
    pub detail: String,
    pub near: String,
    pub notes: Vec<String>,
}

/// Why a fragment stopped running.
enum Pause {
    /// It came to where another fragment is, or further.
    Reached(usize),
    /// Some lanes branch to the first, the rest (by mask) goes on at the second.
    Split(usize, u32, usize),
    Wait(State, usize),
    /// It has gone around in circles while others could run.
    Tired(usize),
    Ended,
}

/// How often a fragment may jump back before others get a turn: it may wait for what one of them does.
const PATIENCE: u32 = 1 << 12;

impl Warp {
    /// Lanes of `mask` begin the kernel, as warp `number` of their block.
    pub fn begin(&mut self, number: usize, mask: u32) {
        (self.number, self.born, self.live) = (number, mask, mask);
        if self.tainted {
            self.taints.fill(Taint::default());
            self.tainted = false;
        }
        (self.step, self.rounds) = (0, Rounds::default());
        self.fragments.clear();
        self.fragments.push(Fragment { pc: 0, mask, state: State::Ready });
    }

    /// Whether every thread has ended.
    pub fn ended(&self) -> bool {
        self.live == 0
    }

    /// Lets threads that wait at the block's barrier go on.
    pub fn release(&mut self) {
        for fragment in self.fragments.iter_mut().filter(|fragment| fragment.state == State::Barrier) {
            fragment.state = State::Ready;
            fragment.pc += 1;
        }
    }

    /// Whether every thread that lives waits at the block's barrier.
    pub fn waits(&self) -> bool {
        self.fragments.iter().all(|fragment| fragment.state == State::Barrier)
    }

    /// Runs until every thread has ended or waits for other warps.
    pub fn run(&mut self, machine: &mut Machine) -> Result<(), Stop> {
        let mut tired = 0;
        while let Some(index) = self.next(tired) {
            let Fragment { pc, mask, .. } = self.fragments[index];
            let others = self.fragments.iter().enumerate().filter(|(other, _)| *other != index);
            // Fragments behind this one wait for something; ahead of it, this one meets the nearest.
            let limit = others.map(|(_, other)| other.pc).filter(|&other| other > pc).min().unwrap_or(usize::MAX);
            tired = 0;
            match self.fragment(machine, pc, mask, limit)? {
                Pause::Reached(pc) => self.fragments[index].pc = pc,
                Pause::Split(to, taken, on) => {
                    self.fragments[index] = Fragment { pc: on, mask: mask & !taken, state: State::Ready };
                    self.fragments.push(Fragment { pc: to, mask: taken, state: State::Ready });
                }
                Pause::Wait(state, pc) => self.fragments[index] = Fragment { pc, mask, state },
                Pause::Tired(pc) => {
                    self.fragments[index].pc = pc;
                    tired = mask;
                }
                Pause::Ended => {
                    self.live &= !mask;
                    self.fragments.swap_remove(index);
                    // Who waited for these lanes waits no more.
                    self.wake();
                }
            }
            self.merge();
        }
        Ok(())
    }

    /// The ready fragment that is furthest behind, a tired one last.
    fn next(&self, tired: u32) -> Option<usize> {
        let ready = self.fragments.iter().enumerate().filter(|(_, fragment)| fragment.state == State::Ready);
        ready
            .min_by_key(|(_, fragment)| (fragment.mask & tired != 0, jitter::rank(fragment.pc)))
            .map(|(index, _)| index)
    }

    /// Lets those that wait for other lanes look again.
    fn wake(&mut self) {
        for fragment in &mut self.fragments {
            if matches!(fragment.state, State::Lanes | State::Warp) {
                fragment.state = State::Ready;
            }
        }
    }

    /// Makes fragments at one instruction one. Those that waited there look again.
    fn merge(&mut self) {
        let mut index = 0;
        while index + 1 < self.fragments.len() {
            let Fragment { pc, state, .. } = self.fragments[index];
            let same = |other: &Fragment| {
                other.pc == pc && (other.state == state || state != State::Barrier && other.state != State::Barrier)
            };
            match self.fragments[index + 1..].iter().position(same) {
                Some(place) => {
                    let other = self.fragments.swap_remove(index + 1 + place);
                    let merged = &mut self.fragments[index];
                    merged.mask |= other.mask;
                    merged.state = if state == State::Barrier { state } else { State::Ready };
                }
                None => index += 1,
            }
        }
    }

    /// Runs the lanes of `mask` from `pc` until they part, wait, end, or come to `limit`.
    fn fragment(&mut self, machine: &mut Machine, mut pc: usize, mask: u32, limit: usize) -> Result<Pause, Stop> {
        let kernel = machine.kernel;
        let mut back = 0;
        loop {
            if pc >= limit {
                return Ok(Pause::Reached(pc));
            }
            let inst = &kernel.code[pc];
            let [a, b, c, e] = inst.args.map(|arg| arg as usize);
            let d = inst.d as usize;
            if self.tainted || inst.watch.acts() && machine.checks.arithmetic {
                self.follow(machine, pc, mask);
            }
            let registers = &mut self.registers;
            let mut next = pc + 1;
            match inst.what {
                Do::One(f) => match registers.get_disjoint_mut([d, a]) {
                    Ok([d, a]) if mask == u32::MAX => f(a, d),
                    _ => blend(registers, d, mask, |registers, out| f(&registers[a], out)),
                },
                Do::Two(f) => match registers.get_disjoint_mut([d, a, b]) {
                    Ok([d, a, b]) if mask == u32::MAX => f(a, b, d),
                    _ => blend(registers, d, mask, |registers, out| f(&registers[a], &registers[b], out)),
                },
                Do::Three(f) => match registers.get_disjoint_mut([d, a, b, c]) {
                    Ok([d, a, b, c]) if mask == u32::MAX => f(a, b, c, d),
                    _ => blend(registers, d, mask, |registers, out| {
                        f(&registers[a], &registers[b], &registers[c], out);
                    }),
                },
                Do::Four(f) => blend(registers, d, mask, |registers, out| {
                    f(&registers[a], &registers[b], &registers[c], &registers[e], out);
                }),
                Do::Carry(f) => {
                    let carry = &registers[CARRY as usize];
                    let (value, carry) = f(&registers[a], &registers[b], &registers[c], carry);
                    write(&mut registers[inst.d as usize], &value, mask);
                    write(&mut registers[CARRY as usize], &carry, mask);
                }
                Do::Enter { block, length } => {
                    machine.blocks[block as usize] += 1;
                    machine.budget = machine.budget.checked_sub(u64::from(length)).ok_or_else(|| {
                        stop(Kind::Budget, inst, mask, "Launch used up its budget of instructions".to_string())
                    })?;
                }
                Do::Nothing => {}
                Do::Goto(to) => next = to as usize,
                Do::If { to, negated, edge } => {
                    let holds = mask_of(&registers[a]);
                    let taken = mask & if negated { !holds } else { holds };
                    let counts = &mut machine.branches[edge as usize];
                    counts[0] += u64::from(taken != mask);
                    counts[1] += u64::from(taken != 0);
                    match taken {
                        0 => {}
                        _ if taken == mask => next = to as usize,
                        _ => return Ok(Pause::Split(to as usize, taken, pc + 1)),
                    }
                }
                Do::Load { .. } | Do::Store { .. } | Do::Atomic { .. } | Do::Align { .. } => {
                    machine.pc = pc as u32;
                    self.access(machine, inst, mask)?;
                }
                Do::Param { bytes, signed } => {
                    let value = parameter(machine.params, inst, bytes, signed, mask)?;
                    write(&mut registers[inst.d as usize], &[value; WARP], mask);
                }
                Do::Shuffle(_) | Do::Vote(_) | Do::LoadMatrix { .. } | Do::Multiply { .. } | Do::WarpBarrier => {
                    machine.pc = pc as u32;
                    if let Some(state) = self.together(machine, inst, mask)? {
                        return Ok(Pause::Wait(state, pc));
                    }
                }
                Do::Barrier => return Ok(Pause::Wait(State::Barrier, pc)),
                Do::Trap => return Err(stop(Kind::Trap, inst, mask, "Kernel executed `trap`".to_string())),
                Do::Assert => {
                    let mut failed = stop(Kind::Assert, inst, mask, String::new());
                    failed.detail = assertion(machine.memory, registers, inst, failed.lane);
                    let mut ways = kernel.assertions[inst.offset as usize].iter();
                    failed.notes = ways.find_map(|way| way.told(registers, failed.lane)).unwrap_or_default();
                    return Err(failed);
                }
                Do::Exit => return Ok(Pause::Ended),
            }
            if next <= pc {
                if machine.checks.loops && self.goes_round(next, mask, machine.effects) {
                    let detail = "Infinite loop detected. The warp comes back to where it was".to_string();
                    return Err(stop(Kind::Loop, inst, mask, detail));
                }
                back += 1;
                if back > PATIENCE && self.fragments.len() > 1 {
                    return Ok(Pause::Tired(next));
                }
            }
            pc = next;
        }
    }
}

fn parameter(params: &[u8], inst: &Inst, bytes: u8, signed: bool, mask: u32) -> Result<u64, Stop> {
    let at = inst.offset as usize;
    let Some(found) = params.get(at..at + usize::from(bytes)) else {
        let detail = "Invalid __param__ read of a parameter that was not passed".to_string();
        return Err(stop(Kind::OutOfWindow, inst, mask, detail));
    };
    let mut wide = [0; 8];
    wide[..found.len()].copy_from_slice(found);
    Ok(extend(u64::from_le_bytes(wide), bytes, signed))
}

fn stop(kind: Kind, inst: &Inst, mask: u32, detail: String) -> Stop {
    let (lane, near, notes) = (mask.trailing_zeros() as usize, String::new(), Vec::new());
    Stop { kind, lane, source: inst.source, address: None, detail, near, notes }
}

/// Computes a register that may be a source of its own, and writes the lanes of `mask`.
fn blend(registers: &mut [Lanes], d: usize, mask: u32, compute: impl FnOnce(&[Lanes], &mut Lanes)) {
    let mut value = [0; WARP];
    compute(registers, &mut value);
    write(&mut registers[d], &value, mask);
}

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

/// `file:line: function: … Assertion …`, with blanks for block and thread that the launch fills in.
fn assertion(memory: &Memory, registers: &[Lanes], inst: &Inst, lane: usize) -> String {
    let arg = |index: usize| registers[inst.args[index] as usize][lane];
    let text = |address: u64| {
        let byte = |at: u64| memory.bytes(address + at, 1).ok().map(|bytes| bytes[0]).filter(|byte| *byte != 0);
        String::from_utf8_lossy(&(0..4096).map_while(byte).collect::<Vec<_>>()).into_owned()
    };
    let line = arg(2) as u32;
    format!("{}:{line}: {}: {{place}} Assertion `{}` failed.", text(arg(1)), text(arg(3)), text(arg(0)))
}
