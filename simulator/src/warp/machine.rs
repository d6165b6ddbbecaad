//! What all warps of a launch share, and how one of them stops.

use std::collections::HashMap;
use std::sync::Arc;

use super::grid_barrier::GridBarrier;
use crate::config::{Checks, Config};
use crate::effort::Effort;
use crate::fault::{Detail, Fault, How, Kind, Location, Near, Note, Place, Thread};
use crate::grid::{Launch, coordinates};
use crate::isa::Space;
use crate::kernel::{Inst, Kernel, Op};
use crate::lanes::WARP;
use crate::memory::{AccessError, Memory};
use crate::ptx::{Module, Source};
use crate::race::{EPOCHS, EarlierAccess, Order};
use crate::schedule::Schedule;
use crate::shadowed_buffer::ShadowedBuffer;

/// How many barriers a block has.
pub const BARRIERS: usize = 16;

/// Warp instructions that a launch may execute after an access that failed: what it was to read may have ended a loop.
const AFTER_FAULT: u64 = 1 << 20;

/// How many accesses of a launch may fail before it ends.
const MOST_FAILURES: u32 = 10_000;

/// Counters of a kernel, over all launches.
#[derive(Debug, Default)]
pub struct Counters {
    /// How often the kernel was launched.
    pub launches: u64,
    /// How often each block of code was entered.
    pub blocks: Vec<u64>,
    /// How often each branch was not taken, and taken.
    pub branches: Vec<[u64; 2]>,
}

impl Counters {
    /// Those of a kernel that was not launched.
    pub fn of(kernel: &Kernel) -> Self {
        Self { launches: 0, blocks: vec![0; kernel.blocks.len()], branches: vec![[0; 2]; kernel.branches.len()] }
    }
}

/// The parts of a device that a launch uses.
pub struct Resources<'a> {
    pub counters: &'a mut Counters,
    pub memory: &'a mut Memory,
    pub module: &'a Module,
    /// Receives what the launch has done.
    pub effort: &'a mut Effort,
    /// Receives what is found and does not end the launch.
    pub reports: &'a mut Vec<Fault>,
    /// Receives what the threads print.
    pub printed: &'a mut String,
}

/// What the warps of a block share.
#[derive(Debug, Default)]
pub struct Block {
    /// Its coordinates in the grid.
    pub at: [u32; 3],
    /// Its number in the launch.
    pub number: u32,
    pub shared: ShadowedBuffer,
    /// How many barriers it has passed.
    pub phase: u32,
    /// How many threads have arrived at each of its barriers without waiting there.
    pub arrived: [u32; BARRIERS],
}

impl Block {
    /// Begins the block of this number, with fresh memory.
    pub fn begin(&mut self, kernel: &Kernel, launch: &Launch, number: u64, checks: Checks) {
        self.at = launch.block_at(number);
        // Races are not checked in blocks of a number that is too large.
        self.number = u32::try_from(number).unwrap_or(u32::MAX);
        self.shared.reset(kernel.shared as usize + launch.shared as usize, 0xA5, !checks.initialization);
        if self.number.is_multiple_of(EPOCHS - 1) {
            // Shared memory counts blocks as epochs, which begin anew here.
            self.shared.cells.clear();
        }
        (self.phase, self.arrived) = (0, [0; BARRIERS]);
    }
}

/// What all warps of a launch share.
pub struct Machine<'a> {
    pub kernel: &'a Kernel,
    pub launch: &'a Launch,
    pub checks: Checks,
    pub module: &'a Module,
    pub memory: &'a mut Memory,
    /// The block whose turn it is.
    pub block: Block,
    /// The instruction that accesses memory.
    pub pc: u32,
    /// The launch's number.
    pub epoch: u32,
    /// What orders accesses beyond barriers of whole blocks and warps, if the kernel has such means and races are checked.
    pub order: Option<Box<Order>>,
    /// The barrier of the grid, if the launch is cooperative.
    pub grid_barrier: Option<GridBarrier>,
    /// The order in which its blocks, warps and lanes run.
    pub schedule: Schedule,
    /// Whether the launch has one warp.
    pub alone: bool,
    /// Whether warps take turns: those of a block, or of all blocks.
    pub takes_turns: bool,
    /// Counts the events by which threads can affect each other.
    pub effects: u64,
    /// Counts what may end another warp's waiting: writes and atomics, and turns that warps gave up.
    pub progress: u64,
    /// Where each instruction read undefined bytes: their address, and what is there.
    pub origins: HashMap<u32, (u64, Near)>,
    /// Warp instructions that the launch may execute, and how many of them are left.
    allowed: u64,
    budget: u64,
    /// The instructions of the warp that executed the most.
    pub longest: u64,
    /// How often the clock was read.
    clock_reads: u64,
    counters: &'a mut Counters,
    effort: &'a mut Effort,
    /// Whether the launch goes on after an access that fails, and the first that did.
    goes_on: bool,
    first_fault: Option<Fault>,
    /// How many more accesses may fail.
    failures_left: u32,
    /// Reports that do not end the launch.
    pub reports: &'a mut Vec<Fault>,
    /// What the threads have printed.
    pub printed: &'a mut String,
}

/// How many instructions a launch may execute. A grid of many small blocks is no loop: each warp adds something, up to four times the
/// budget that any launch has.
fn budget(least: u64, launch: &Launch) -> u64 {
    const EACH_WARP: u64 = 1000;
    let warps = launch.grid.iter().fold(launch.warps() as u64, |warps, &size| warps.saturating_mul(size.into()));
    least.saturating_add(warps.saturating_mul(EACH_WARP).min(least.saturating_mul(4)))
}

impl<'a> Machine<'a> {
    /// That of a launch which begins.
    pub fn new(
        kernel: &'a Arc<Kernel>,
        launch: &'a Launch,
        config: &Config,
        workspace: Option<u64>,
        takes_turns: bool,
        (epoch, schedule): (u32, Schedule),
        Resources { counters, memory, module, effort, reports, printed }: Resources<'a>,
    ) -> Self {
        counters.launches += 1;
        let allowed = budget(config.budget, launch);
        Self {
            kernel,
            launch,
            checks: config.checks,
            module,
            memory,
            block: Block::default(),
            pc: 0,
            epoch,
            schedule,
            order: (kernel.orders && config.checks.races).then(Box::default),
            grid_barrier: workspace.map(GridBarrier::new),
            alone: launch.warps() == 1 && launch.blocks() == 1,
            takes_turns,
            effects: 0,
            progress: 0,
            origins: HashMap::new(),
            allowed,
            budget: allowed,
            longest: 0,
            clock_reads: 0,
            goes_on: config.goes_on,
            first_fault: None,
            failures_left: MOST_FAILURES,
            counters,
            effort,
            reports,
            printed,
        }
    }

    /// Counts a block that is entered, and takes its instructions off the budget.
    pub fn enter(&mut self, inst: &Inst, block: u32, length: u32, mask: u32) -> Result<(), Stop> {
        self.counters.blocks[block as usize] += 1;
        let left = self.budget.checked_sub(u64::from(length));
        self.budget =
            left.ok_or_else(|| stop(Kind::Budget, inst, mask, "Launch used up its budget of instructions"))?;
        Ok(())
    }

    /// The lanes that take a branch, which is counted.
    pub fn taken(&mut self, holds: u32, negated: bool, branch: u32, mask: u32) -> u32 {
        let taken = mask & if negated { !holds } else { holds };
        let counts = &mut self.counters.branches[branch as usize];
        counts[0] += u64::from(taken != mask);
        counts[1] += u64::from(taken != 0);
        taken
    }

    /// How many warp instructions the launch has executed.
    pub fn executed(&self) -> u64 {
        self.allowed - self.budget
    }

    /// Ends the launch: adds what it did to what its device has done. Its fault is the first; what followed it is reported.
    pub fn end(self, ended: Result<(), Fault>) -> Result<(), Fault> {
        let executed = self.executed();
        self.effort.add(&self.kernel.name, executed, self.longest);
        let Some(first) = self.first_fault else { return ended };
        // What never ends may do so because of the first, and a failure too many is as one that is known.
        let may_follow = |fault: &Fault| matches!(fault.kind, Kind::Budget | Kind::Loop | Kind::Deadlock);
        let is_known = |fault: &Fault| {
            fault.place.ptx == first.place.ptx || self.reports.iter().any(|known| known.place.ptx == fault.place.ptx)
        };
        let own = ended.err().filter(|fault| !may_follow(fault) && !is_known(fault));
        self.reports.extend(own);
        Err(first)
    }

    /// Keeps a fault and goes on, or ends the launch with it.
    pub fn fails(&mut self, warp: usize, found: Stop) -> Result<(), Stop> {
        // The parts of a matrix are one access.
        if !self.goes_on || self.failures_left == 0 || matches!(self.kernel.code[self.pc as usize].op, Op::Matrix(_)) {
            return Err(found);
        }
        self.budget = self.budget.min(AFTER_FAULT);
        self.failures_left -= 1;
        match &self.first_fault {
            None => self.first_fault = Some(self.fault(warp, found)),
            Some(first) if first.place.ptx == Some(found.source.ptx) => {}
            Some(_) => self.report(warp, found),
        }
        Ok(())
    }

    /// The time, in warp instructions: later whenever somebody asks.
    pub fn time(&mut self) -> u64 {
        self.clock_reads += 1;
        self.executed() + self.clock_reads
    }

    /// Keeps a report that ends nothing, once for each line.
    pub fn report(&mut self, warp: usize, found: Stop) {
        let ptx = (found.source.ptx > 0).then_some(found.source.ptx);
        let same = |known: &Fault| known.kind == found.kind && known.place.ptx == ptx;
        if !self.reports.iter().any(same) {
            let fault = self.fault(warp, found);
            self.reports.push(fault);
        }
    }

    /// The fault of a lane of a warp of the present block.
    pub fn fault(&self, warp: usize, stop: Stop) -> Fault {
        let Stop { kind, lane, source, address, detail, near, notes } = stop;
        let ptx = (source.ptx > 0).then_some(source.ptx);
        let place = Place { kernel: self.kernel.name.clone(), source: self.module.source_line(source), ptx };
        let thread = coordinates((warp * WARP + lane) as u32, self.launch.block);
        let thread = ptx.map(|_| Thread { block: self.block.at, thread });
        Fault { kind, place, thread, address, near, detail, notes }
    }

    /// Describes where an address is.
    pub fn describe_address(&self, space: Space, address: u64) -> Near {
        match space {
            Space::Shared => self.kernel.shared_arrays.describe(address, self.block.shared.data.len()).0,
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
