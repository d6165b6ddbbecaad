//! The interpreter: one warp, 32 lanes at a time. Lanes that part ways become fragments; the one furthest behind runs
//! next, and fragments that come to the same instruction are one again.

use crate::fault::Kind;
use crate::isa::{Choose, Space, Vote};
use crate::kernel::{CARRY, Do, Inst, Kernel};
use crate::lanes::{Lanes, WARP, lanes, mask_of};
use crate::memory::{Memory, Trouble};
use crate::place::{Place, resolve};
use crate::ptx::Source;

/// Why a fragment does not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Ready,
    /// At a block barrier.
    Barrier,
    /// Waits for other lanes of its warp.
    Lanes,
}

/// Lanes that are at one instruction.
#[derive(Debug, Clone, Copy)]
struct Fragment {
    pc: usize,
    mask: u32,
    state: State,
}

/// A warp: its registers, and where its lanes are.
#[derive(Debug, Default)]
pub struct Warp {
    pub registers: Vec<Lanes>,
    pub local: Vec<u8>,
    fragments: Vec<Fragment>,
    live: u32,
}

/// What all warps of a launch share.
pub struct Machine<'a> {
    pub kernel: &'a Kernel,
    pub memory: &'a mut Memory,
    pub shared: Vec<u8>,
    pub params: &'a [u8],
    /// Warp instructions left.
    pub budget: u64,
    /// How often each block was entered.
    pub blocks: &'a mut [u64],
    /// How often each branch was not taken, and taken.
    pub branches: &'a mut [[u64; 2]],
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
}

/// Why a fragment stopped running.
enum Pause {
    /// It came to where another fragment is, or further.
    Reached(usize),
    /// Some lanes branch to the first, the rest (by mask) goes on at the second.
    Split(usize, u32, usize),
    Wait(State, usize),
    Ended,
}

impl Warp {
    /// Lanes of `mask` begin the kernel.
    pub fn begin(&mut self, mask: u32) {
        self.live = mask;
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

    /// Where the first thread is that cannot go on: lane and place.
    pub fn stuck(&self, kernel: &Kernel) -> Option<(usize, Source)> {
        let fragment = self.fragments.first()?;
        Some((fragment.mask.trailing_zeros() as usize, kernel.code[fragment.pc].source))
    }

    /// Runs until every thread has ended or waits for other warps.
    pub fn run(&mut self, machine: &mut Machine) -> Result<(), Stop> {
        while let Some(index) = self.next() {
            let Fragment { pc, mask, .. } = self.fragments[index];
            let others = self.fragments.iter().enumerate().filter(|(other, _)| *other != index);
            // Fragments behind this one wait for something; ahead of it, this one meets the nearest.
            let limit = others.map(|(_, other)| other.pc).filter(|&other| other > pc).min().unwrap_or(usize::MAX);
            match self.fragment(machine, pc, mask, limit)? {
                Pause::Reached(pc) => self.fragments[index].pc = pc,
                Pause::Split(to, taken, on) => {
                    self.fragments[index] = Fragment { pc: on, mask: mask & !taken, state: State::Ready };
                    self.fragments.push(Fragment { pc: to, mask: taken, state: State::Ready });
                }
                Pause::Wait(state, pc) => self.fragments[index] = Fragment { pc, mask, state },
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

    /// The ready fragment that is furthest behind.
    fn next(&self) -> Option<usize> {
        let ready = self.fragments.iter().enumerate().filter(|(_, fragment)| fragment.state == State::Ready);
        ready.min_by_key(|(_, fragment)| fragment.pc).map(|(index, _)| index)
    }

    fn wake(&mut self) {
        for fragment in self.fragments.iter_mut().filter(|fragment| fragment.state == State::Lanes) {
            fragment.state = State::Ready;
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
        loop {
            if pc >= limit {
                return Ok(Pause::Reached(pc));
            }
            let inst = &kernel.code[pc];
            let [a, b, c, e] = inst.args.map(|arg| arg as usize);
            let registers = &mut self.registers;
            let mut next = pc + 1;
            match inst.what {
                Do::One(f) => {
                    let value = f(&registers[a]);
                    write(&mut registers[inst.d as usize], &value, mask);
                }
                Do::Two(f) => {
                    let value = f(&registers[a], &registers[b]);
                    write(&mut registers[inst.d as usize], &value, mask);
                }
                Do::Three(f) => {
                    let value = f(&registers[a], &registers[b], &registers[c]);
                    write(&mut registers[inst.d as usize], &value, mask);
                }
                Do::Four(f) => {
                    let value = f(&registers[a], &registers[b], &registers[c], &registers[e]);
                    write(&mut registers[inst.d as usize], &value, mask);
                }
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
                    self.access(machine, inst, mask)?;
                }
                Do::Param { bytes, signed } => {
                    let value = parameter(machine.params, inst, bytes, signed, mask)?;
                    write(&mut registers[inst.d as usize], &[value; WARP], mask);
                }
                Do::Shuffle(choose) => {
                    if let Some(wait) = self.rendezvous(inst, e, mask, pc)? {
                        return Ok(wait);
                    }
                    self.shuffle(choose, inst, mask);
                }
                Do::Vote(vote) => {
                    if let Some(wait) = self.rendezvous(inst, b, mask, pc)? {
                        return Ok(wait);
                    }
                    self.vote(vote, inst, mask);
                }
                Do::WarpBarrier => {
                    if let Some(wait) = self.rendezvous(inst, a, mask, pc)? {
                        return Ok(wait);
                    }
                }
                Do::Barrier => return Ok(Pause::Wait(State::Barrier, pc)),
                Do::Trap => return Err(stop(Kind::Trap, inst, mask, "Kernel executed `trap`".to_string())),
                Do::Assert => {
                    let mut failed = stop(Kind::Assert, inst, mask, String::new());
                    failed.detail = assertion(machine.memory, registers, inst, failed.lane);
                    return Err(failed);
                }
                Do::Exit => return Ok(Pause::Ended),
            }
            pc = next;
        }
    }

    fn shuffle(&mut self, choose: Choose, inst: &Inst, mask: u32) {
        let [from, places, clamps] = [0, 1, 2].map(|arg| self.registers[inst.args[arg] as usize]);
        let (mut value, mut inside) = (from, [0; WARP]);
        for lane in lanes(mask) {
            let (source, valid) = choose.source(lane as u32, places[lane] as u32, clamps[lane] as u32);
            value[lane] = from[source as usize % WARP] & 0xffff_ffff;
            inside[lane] = u64::from(valid);
        }
        write(&mut self.registers[inst.d as usize], &value, mask);
        write(&mut self.registers[inst.d2 as usize], &inside, mask);
    }

    fn vote(&mut self, vote: Vote, inst: &Inst, mask: u32) {
        let [votes, members] = [0, 1].map(|arg| self.registers[inst.args[arg] as usize]);
        let members = members[mask.trailing_zeros() as usize] as u32 & mask;
        let ballot = mask_of(&votes) & members;
        let answer = match vote {
            Vote::All => u64::from(ballot == members),
            Vote::Any => u64::from(ballot != 0),
            Vote::Uniform => u64::from(ballot == 0 || ballot == members),
            Vote::Ballot => u64::from(ballot),
        };
        write(&mut self.registers[inst.d as usize], &[answer; WARP], mask);
    }

    /// Waits until every living lane of the member mask is here.
    fn rendezvous(&self, inst: &Inst, members: usize, mask: u32, pc: usize) -> Result<Option<Pause>, Stop> {
        let members = self.registers[members][mask.trailing_zeros() as usize] as u32;
        if mask & !members != 0 {
            let outside = mask & !members;
            let detail = format!("a lane executes with a member mask of 0x{members:x}, which it is not in");
            return Err(stop(Kind::Unsupported, inst, outside, detail));
        }
        let missing = members & self.live & !mask;
        Ok((missing != 0).then_some(Pause::Wait(State::Lanes, pc)))
    }

    fn access(&mut self, machine: &mut Machine, inst: &Inst, mask: u32) -> Result<(), Stop> {
        let [a, b, c, _] = inst.args.map(|arg| arg as usize);
        let mut at = self.registers[a];
        for address in &mut at {
            *address = address.wrapping_add(inst.offset as u64);
        }
        let (space, bytes) = match inst.what {
            Do::Load { space, bytes, .. } | Do::Store { space, bytes } => (space, bytes),
            Do::Atomic { space, bytes, .. } | Do::Align { space, bytes } => (space, bytes),
            _ => return Ok(()),
        };
        let space = if space == Space::Generic { resolve(&mut at, mask) } else { space };
        let what = match inst.what {
            Do::Load { .. } => "read",
            Do::Store { .. } => "write",
            Do::Atomic { .. } => "atomic",
            _ => "access",
        };
        let local = machine.kernel.local as usize;
        let mut place =
            Place { space, memory: machine.memory, shared: &mut machine.shared, local: &mut self.local, stride: local };
        let done = match inst.what {
            Do::Load { signed, .. } => {
                let d = &mut self.registers[inst.d as usize];
                let read = place.load(bytes, &at, mask, d);
                if signed && bytes < 8 {
                    lanes(mask).for_each(|lane| d[lane] = extend(d[lane], bytes, true));
                }
                read
            }
            Do::Store { .. } => place.store(bytes, &at, mask, &self.registers[b]),
            Do::Atomic { update, .. } => {
                let (operand, other) = (self.registers[b], self.registers[c]);
                let d = &mut self.registers[inst.d as usize];
                lanes(mask).try_for_each(|lane| {
                    place.load(bytes, &at, 1 << lane, d)?;
                    let mut new = [0; WARP];
                    new[lane] = update(d[lane], operand[lane], other[lane]);
                    place.store(bytes, &at, 1 << lane, &new)
                })
            }
            _ => match lanes(mask).find(|&lane| !at[lane].is_multiple_of(u64::from(bytes))) {
                Some(lane) => {
                    let place = format!("no multiple of {bytes}, as a vector's must be");
                    Err((lane, Trouble { kind: Kind::Misaligned, address: at[lane], place }))
                }
                None => Ok(()),
            },
        };
        done.map_err(|(lane, trouble)| {
            let space = format!("{space:?}").to_lowercase();
            let detail = format!("Invalid __{space}__ {what} of size {bytes} bytes");
            let stop = stop(trouble.kind, inst, 1 << lane, detail);
            Stop { address: Some(trouble.address), near: trouble.place, ..stop }
        })
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
    Stop { kind, lane: mask.trailing_zeros() as usize, source: inst.source, address: None, detail, near: String::new() }
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
