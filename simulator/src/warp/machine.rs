//! What all warps of a launch share, and how one of them stops.

use std::collections::HashMap;

use super::Warp;
use super::barrier::BARRIERS;
use super::grid_barrier::GridBarrier;
use crate::config::Checks;
use crate::fault::{self, Assertion, Detail, How, Kind, Location, Near, Note, Thread};
use crate::grid::{Launch, coordinates};
use crate::isa::Space;
use crate::kernel::{Inst, Kernel, Op};
use crate::lanes::Lanes;
use crate::memory::{AccessError, Memory};
use crate::ptx::{Module, Source};
use crate::race::EarlierAccess;
use crate::shadowed_buffer::ShadowedBuffer;

/// What all warps of a launch share.
pub struct Machine<'a> {
    pub kernel: &'a Kernel,
    pub module: &'a Module,
    pub memory: &'a mut Memory,
    pub shared: ShadowedBuffer,
    pub params: &'a [u8],
    pub launch: &'a Launch,
    pub checks: Checks,
    /// The instruction that accesses memory.
    pub pc: u32,
    /// The launch's number.
    pub epoch: u32,
    /// The block's number in the launch.
    pub block: u32,
    /// How many barriers the block has passed.
    pub phase: u32,
    /// How many threads have arrived at each of the block's barriers without waiting there.
    pub arrived: [u32; BARRIERS],
    /// Whether the block has read a lock or flag.
    pub has_acquired: bool,
    /// The barrier of the grid, if the launch is cooperative.
    pub grid_barrier: Option<GridBarrier>,
    /// Whether the launch has one warp.
    pub alone: bool,
    /// Counts the events by which threads can affect each other.
    pub effects: u64,
    /// Whether warps take turns: those of a block, or of all blocks.
    pub takes_turns: bool,
    /// Counts what may end another warp's waiting: writes and atomics, and turns that warps gave up.
    pub progress: u64,
    /// Where each instruction read undefined bytes: their address, and what is there.
    pub origins: HashMap<u32, (u64, Near)>,
    /// Warp instructions that the launch may execute.
    pub allowed: u64,
    /// How often the clock was read.
    pub clock_reads: u64,
    /// Warp instructions left.
    pub budget: u64,
    /// How often each block was entered.
    pub blocks: &'a mut [u64],
    /// How often each branch was not taken, and taken.
    pub branches: &'a mut [[u64; 2]],
    /// What the threads have printed.
    pub printed: &'a mut String,
    /// Reports that do not end the launch: the warp's number, and what was found.
    pub reports: Vec<(usize, Stop)>,
}

impl Machine<'_> {
    /// Counts a block that is entered, and takes its instructions off the budget.
    pub fn enter(&mut self, inst: &Inst, block: u32, length: u32, mask: u32) -> Result<(), Stop> {
        self.blocks[block as usize] += 1;
        let left = self.budget.checked_sub(u64::from(length));
        self.budget =
            left.ok_or_else(|| stop(Kind::Budget, inst, mask, "Launch used up its budget of instructions"))?;
        Ok(())
    }

    /// The lanes that take a branch, which is counted.
    pub fn taken(&mut self, holds: u32, negated: bool, branch: u32, mask: u32) -> u32 {
        let taken = mask & if negated { !holds } else { holds };
        let counts = &mut self.branches[branch as usize];
        counts[0] += u64::from(taken != mask);
        counts[1] += u64::from(taken != 0);
        taken
    }

    /// How many warp instructions the launch has executed.
    pub fn executed(&self) -> u64 {
        self.allowed - self.budget
    }

    /// The time, in warp instructions: later whenever somebody asks.
    pub fn time(&mut self) -> u64 {
        self.clock_reads += 1;
        self.executed() + self.clock_reads
    }

    /// Keeps a report that ends nothing, once for each instruction.
    pub fn report(&mut self, warp: usize, found: Stop) {
        let same = |(_, known): &(usize, Stop)| known.kind == found.kind && known.source == found.source;
        if !self.reports.iter().any(same) {
            self.reports.push((warp, found));
        }
    }

    /// Describes where an address is.
    pub fn describe_address(&self, space: Space, address: u64) -> Near {
        match space {
            Space::Shared => self.kernel.shared_arrays.describe(address, self.shared.data.len()).0,
            Space::Local => self.kernel.local_arrays.describe(address, self.kernel.local as usize).0,
            _ => self.memory.describe(address),
        }
    }

    /// Describes the earlier access of a race.
    pub fn other_side(&self, how: How, earlier: &EarlierAccess) -> Note {
        let thread = coordinates(earlier.thread, self.launch.block);
        let block = coordinates(earlier.block, self.launch.grid);
        Note::Other { how, at: self.location(earlier.pc), by: Thread { block, thread } }
    }

    /// Where an instruction is.
    pub fn location(&self, pc: u32) -> Location {
        let source = self.kernel.code[pc as usize].source;
        Location { source: self.module.source_line(source), ptx: source.ptx }
    }
}

/// A fault of one lane, before kernel, block and thread are filled in.
#[derive(Debug)]
pub struct Stop {
    pub kind: Kind,
    pub lane: usize,
    pub source: Source,
    pub address: Option<u64>,
    pub detail: Detail,
    pub near: Option<Near>,
    pub notes: Vec<Note>,
}

impl Stop {
    /// The same, at an address that cannot be accessed.
    pub fn at(self, AccessError { kind, address, near, notes }: AccessError) -> Self {
        Self { kind, address: Some(address), near: Some(near), notes, ..self }
    }
}

/// A stop at the first lane of `mask`.
pub fn stop(kind: Kind, inst: &Inst, mask: u32, detail: impl Into<Detail>) -> Stop {
    let (lane, detail, notes) = (mask.trailing_zeros() as usize, detail.into(), Vec::new());
    Stop { kind, lane, source: inst.source, address: None, detail, near: None, notes }
}

/// The assertion that a lane's call of `__assertfail` names.
fn assertion(memory: &Memory, registers: &[Lanes], inst: &Inst, lane: usize) -> Assertion {
    let arg = |index: usize| registers[inst.args[index] as usize][lane];
    let text = |address: u64| {
        let byte = |at: u64| memory.bytes(address + at, 1).ok().map(|bytes| bytes[0]).filter(|byte| *byte != 0);
        String::from_utf8_lossy(&(0..4096).map_while(byte).collect::<Vec<_>>()).into_owned()
    };
    let source = fault::Source { file: text(arg(1)), line: arg(2) as u32 };
    Assertion { source, function: text(arg(3)), condition: text(arg(0)) }
}

impl Warp {
    /// Why a kernel ends itself.
    pub(super) fn aborted(&self, machine: &Machine, inst: &Inst, mask: u32) -> Stop {
        let Op::Trap(instruction) = inst.op else {
            let lane = mask.trailing_zeros() as usize;
            let assertion = assertion(machine.memory, &self.registers, inst, lane);
            let mut failed = stop(Kind::Assert, inst, mask, Detail::Assertion(assertion));
            let mut edges = machine.kernel.assertions[inst.offset as usize].iter();
            failed.notes = edges.find_map(|edge| edge.values_compared(&self.registers, lane)).unwrap_or_default();
            return failed;
        };
        stop(Kind::Trap, inst, mask, format!("Kernel executed `{instruction}`"))
    }
}
