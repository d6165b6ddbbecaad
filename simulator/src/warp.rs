//! The interpreter: one warp, 32 lanes at a time. Diverged lanes become fragments. The fragment furthest behind runs next,
//! and fragments at the same instruction merge.

mod access;
mod access_checks;
mod barrier;
mod calls;
mod collectives;
mod copies;
mod fragments;
mod grid_barrier;
mod loop_detection;
mod machine;
mod matrix;
mod print;
mod taint;

use crate::fault::Kind;
use crate::kernel::{CARRY, Inst, Op, ZERO};
use crate::lanes::{Lanes, WARP, lanes, mask_of};
use crate::shadowed_buffer::ShadowedBuffer;
use calls::OpenCall;
use copies::Copies;
use fragments::{Fragment, State};
use loop_detection::LoopDetector;
use machine::stop;
use taint::Taint;

pub use barrier::{BARRIERS, complete, deadlock};
pub use grid_barrier::GridBarrier;
pub use machine::{Machine, Stop};

/// A warp: its registers, and where its lanes are.
#[derive(Debug, Default)]
pub struct Warp {
    pub registers: Vec<Lanes>,
    pub local: ShadowedBuffer,
    fragments: Vec<Fragment>,
    /// Its number in the block.
    number: usize,
    /// The lanes that have a thread, and those whose thread has not ended.
    born: u32,
    live: u32,
    /// The taint of each register; all zero unless `tainted`.
    taints: Vec<Taint>,
    tainted: bool,
    /// How many warp barriers it has passed.
    step: u32,
    copies: Copies,
    /// The calls of each lane that have not ended, the last one last.
    calls: [Vec<OpenCall>; WARP],
    loop_detector: LoopDetector,
}

/// Why a fragment stopped running.
enum Pause {
    /// It reached another fragment, or went past it.
    Reached(usize),
    /// Some lanes (the mask) branch to the first; the rest goes on at the second.
    Split(usize, u32, usize),
    Wait(State, usize),
    /// It has looped for long while others of its warp could run.
    Tired(usize),
    Ended,
}

impl Warp {
    /// Lanes of `mask` begin the kernel, as warp `number` of their block.
    pub fn begin(&mut self, number: usize, mask: u32) {
        (self.number, self.born, self.live) = (number, mask, mask);
        if self.tainted {
            self.taints.fill(Taint::default());
            self.tainted = false;
        }
        (self.step, self.copies, self.loop_detector) = (0, Copies::default(), LoopDetector::default());
        self.calls.iter_mut().for_each(Vec::clear);
        self.fragments.clear();
        self.fragments.push(Fragment { pc: 0, mask, state: State::Ready });
    }

    /// Whether every thread has ended.
    pub fn ended(&self) -> bool {
        self.live == 0
    }

    /// Runs until every thread has ended or waits for other warps.
    pub fn run(&mut self, machine: &mut Machine) -> Result<(), Stop> {
        let mut tired = 0;
        while let Some(index) = self.next(tired) {
            let Fragment { pc, mask, .. } = self.fragments[index];
            let others = self.fragments.iter().enumerate().filter(|(other, _)| *other != index);
            // Fragments behind this one wait; of those ahead, this one meets the nearest.
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
                    self.end_copies(machine, mask, None)?;
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
            let [a, b, c, e] = inst.args.map(|arg| arg as usize);
            let d = inst.d as usize;
            if self.tainted || inst.arithmetic_check.acts() && machine.checks.arithmetic {
                self.propagate_taint(machine, pc, mask);
            }
            let registers = &mut self.registers;
            let mut next = pc + 1;
            match inst.op {
                Op::One(f) => match registers.get_disjoint_mut([d, a]) {
                    Ok([d, a]) if mask == u32::MAX => f(a, d),
                    _ => blend(registers, d, mask, |registers, out| f(&registers[a], out)),
                },
                Op::Two(f) => match registers.get_disjoint_mut([d, a, b]) {
                    Ok([d, a, b]) if mask == u32::MAX => f(a, b, d),
                    _ => blend(registers, d, mask, |registers, out| f(&registers[a], &registers[b], out)),
                },
                Op::Three(f) => match registers.get_disjoint_mut([d, a, b, c]) {
                    Ok([d, a, b, c]) if mask == u32::MAX => f(a, b, c, d),
                    _ => blend(registers, d, mask, |registers, out| {
                        f(&registers[a], &registers[b], &registers[c], out);
                    }),
                },
                Op::Four(f) => blend(registers, d, mask, |registers, out| {
                    f(&registers[a], &registers[b], &registers[c], &registers[e], out);
                }),
                Op::Carry(f) => {
                    let carry = &registers[CARRY as usize];
                    let (value, carry) = f(&registers[a], &registers[b], &registers[c], carry);
                    write(&mut registers[inst.d as usize], &value, mask);
                    write(&mut registers[CARRY as usize], &carry, mask);
                }
                Op::Enter { block, length } => machine.enter(inst, block, length, mask)?,
                Op::Nothing => {}
                Op::Goto(to) => next = to as usize,
                Op::If { to, negated, branch } => {
                    let taken = machine.taken(mask_of(&registers[a]), negated, branch, mask);
                    match taken {
                        0 => {}
                        _ if taken == mask => next = to as usize,
                        _ => return Ok(Pause::Split(to as usize, taken, pc + 1)),
                    }
                }
                Op::Load { .. } | Op::Store { .. } | Op::Atomic { .. } | Op::Align { .. } => {
                    machine.pc = pc as u32;
                    self.access(machine, inst, mask)?;
                }
                Op::CopyAsync { .. } | Op::CommitCopies | Op::AwaitCopies { .. } => {
                    self.copy(machine, inst, pc, mask)?;
                }
                Op::Poll if mask & !mask_of(&registers[a]) != 0 => return Ok(Pause::Wait(State::Polls, pc + 1)),
                Op::Poll => {}
                Op::Param { bytes, signed } => {
                    let value = parameters(machine.params, inst, &registers[a], (bytes, signed), mask)?;
                    write(&mut registers[inst.d as usize], &value, mask);
                }
                Op::ActiveMask => write(&mut registers[inst.d as usize], &[mask.into(); WARP], mask),
                Op::Clock => write(&mut registers[inst.d as usize], &[machine.time(); WARP], mask),
                Op::Shuffle(_) | Op::Gather(_) | Op::Matrix(_) | Op::WarpBarrier => {
                    machine.pc = pc as u32;
                    if let Some(state) = self.collective(machine, inst, mask)? {
                        return Ok(Pause::Wait(state, pc));
                    }
                }
                Op::Barrier(barrier) => {
                    if let Some(state) = self.arrive(machine, barrier, inst, mask)? {
                        return Ok(Pause::Wait(state, pc));
                    }
                }
                Op::Trap(_) | Op::Assert => return Err(self.aborted(machine, inst, mask)),
                Op::Call { .. } | Op::Return => {
                    let (to, lanes) = self.transfer(machine, inst, pc, mask)?;
                    if lanes != mask {
                        return Ok(Pause::Split(to, lanes, pc));
                    }
                    pc = to;
                    continue;
                }
                Op::Allocate | Op::Free => self.heap(machine, inst, mask)?,
                Op::Print => self.print(machine, inst, mask)?,
                Op::Exit => return Ok(Pause::Ended),
            }
            if next <= pc {
                back += 1;
                if let Some(pause) = self.jumped_back(machine, inst, next, mask, back)? {
                    return Ok(pause);
                }
            }
            pc = next;
        }
    }
}

/// What lanes read of the parameters, at the addresses in `base`: all the same unless a parameter is indexed.
fn parameters(params: &[u8], inst: &Inst, base: &Lanes, (bytes, signed): (u8, bool), mask: u32) -> Result<Lanes, Stop> {
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
        return Ok([read(0, mask)?; WARP]);
    }
    let mut values = [0; WARP];
    for lane in lanes(mask) {
        values[lane] = read(base[lane], 1 << lane)?;
    }
    Ok(values)
}

/// Computes a register that may also be a source, and writes the lanes of `mask`.
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
