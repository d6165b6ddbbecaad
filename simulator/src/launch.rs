//! Runs a launch: one block after the other, each warp until it ends or waits.

mod cooperative;
mod sample;

use crate::config::Config;
use crate::fault::{Fault, Place, Thread};
use crate::grid::{Launch, coordinates};
use crate::jitter;
use crate::kernel::{FRAME, Kernel, Special};
use crate::lanes::WARP;
use crate::memory::Memory;
use crate::ptx::Module;
use crate::race::EPOCHS;
use crate::shadowed_buffer::ShadowedBuffer;
use crate::warp::{BARRIERS, GridBarrier, Machine, Stop, Warp, complete, deadlock};
use std::collections::HashMap;
use std::sync::Arc;

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

/// What a kernel runs on.
pub struct Resources<'a> {
    pub counters: &'a mut Counters,
    pub warps: &'a mut Vec<Warp>,
    pub memory: &'a mut Memory,
    pub module: &'a Module,
    /// Where the blocks of a cooperative launch meet.
    pub workspace: Option<u64>,
    /// Receives what is found and does not end the launch.
    pub reports: &'a mut Vec<Fault>,
    /// Receives what the threads print.
    pub printed: &'a mut String,
}

/// How many instructions a launch may execute. A grid of many small blocks is no loop: each warp adds something, up to four times the
/// budget that any launch has.
fn budget(least: u64, launch: &Launch) -> u64 {
    const EACH_WARP: u64 = 1000;
    let warps = launch.block.iter().product::<u32>().div_ceil(WARP as u32);
    let warps = launch.grid.iter().fold(u64::from(warps), |warps, &size| warps.saturating_mul(size.into()));
    least.saturating_add(warps.saturating_mul(EACH_WARP).min(least.saturating_mul(4)))
}

/// Runs `kernel` to its end or first fault.
pub fn run(kernel: &Arc<Kernel>, launch: &Launch, config: &Config, resources: Resources) -> Result<(), Fault> {
    let Resources { counters, warps, memory, module, workspace, reports, printed } = resources;
    counters.launches += 1;
    let is_sampled = memory.has_pretended(&launch.params);
    let threads = launch.block.iter().product::<u32>() as usize;
    let count = threads.div_ceil(WARP);
    // If they do not wait for each other, warps run one after the other and share one register file.
    let together = kernel.waits && workspace.is_some();
    let blocks = if together { launch.grid.iter().product::<u32>() as usize } else { 1 };
    let files = if kernel.waits { count * blocks } else { 1 };
    warps.resize_with(files.max(warps.len()), Warp::default);
    for warp in &mut warps[..files] {
        prepare(warp, kernel, launch, workspace.unwrap_or(0));
        warp.track(config.checks);
    }
    let epoch = memory.begin(kernel);
    let mut machine = Machine {
        kernel,
        module,
        memory,
        shared: ShadowedBuffer::default(),
        params: &launch.params,
        launch,
        checks: config.checks,
        pc: 0,
        epoch,
        block: 0,
        phase: 0,
        arrived: [0; BARRIERS],
        has_acquired: false,
        grid_barrier: workspace.map(GridBarrier::new),
        alone: count == 1 && launch.grid == [1; 3],
        effects: 0,
        takes_turns: kernel.waits && count * blocks > 1,
        progress: 0,
        origins: HashMap::new(),
        allowed: budget(config.budget, launch),
        clock_reads: 0,
        budget: budget(config.budget, launch),
        blocks: &mut counters.blocks,
        branches: &mut counters.branches,
        printed,
        reports: Vec::new(),
    };
    let shared = kernel.shared as usize + launch.shared as usize;
    let mut done = |machine: &mut Machine, block: [u32; 3], ended: Ended| {
        let whole = |(warp, stop)| fault(stop, warp, kernel, launch, block, module);
        for found in machine.reports.drain(..).map(whole) {
            let same = |known: &Fault| known.kind == found.kind && known.place.ptx == found.place.ptx;
            if !reports.iter().any(same) {
                reports.push(found);
            }
        }
        ended.map_err(whole)
    };
    if together {
        return cooperative::together(&mut machine, &mut warps[..files], count, shared, done);
    }
    let mut run_block = |machine: &mut Machine, block: [u32; 3]| {
        machine.shared.reset(shared, 0xA5, !config.checks.initialization);
        if is_sampled || machine.block.is_multiple_of(EPOCHS - 1) {
            // Shared memory counts blocks as epochs, which begin anew here.
            machine.shared.cells.clear();
        }
        (machine.phase, machine.arrived, machine.has_acquired) = (0, [0; BARRIERS], false);
        let ended = if kernel.waits {
            interleaved(machine, &mut warps[..count], launch, block)
        } else {
            one_by_one(machine, &mut warps[0], launch, block)
        };
        done(machine, block, ended)
    };
    if is_sampled {
        let ran = sample::run(&mut machine, launch, config, run_block)?;
        reports.extend(sample::left_out(ran, kernel, launch));
        return Ok(());
    }
    let [width, height, depth] = launch.grid;
    for z in 0..depth {
        for y in 0..height {
            for x in 0..width {
                run_block(&mut machine, [x, y, z])?;
                machine.block += 1;
            }
        }
    }
    Ok(())
}

/// Nothing, or the number of the warp that stopped, and why.
type Ended = Result<(), (usize, Stop)>;

fn one_by_one(machine: &mut Machine, warp: &mut Warp, launch: &Launch, block: [u32; 3]) -> Ended {
    let threads = launch.block.iter().product::<u32>();
    let count = (threads as usize).div_ceil(WARP);
    for turn in 0..count {
        let number = jitter::scheduled(turn, count, machine.block.into());
        enter(warp, machine, launch, block, (number * WARP) as u32);
        warp.run(machine).map_err(|stop| (number, stop))?;
        if !warp.ended() {
            return Err((number, deadlock(warp, std::slice::from_ref(warp), machine)));
        }
    }
    Ok(())
}

fn interleaved(machine: &mut Machine, warps: &mut [Warp], launch: &Launch, block: [u32; 3]) -> Ended {
    for (number, warp) in warps.iter_mut().enumerate() {
        enter(warp, machine, launch, block, (number * WARP) as u32);
    }
    let mut asked_at = None;
    loop {
        match round(machine, warps)? {
            Round::Ended => return Ok(()),
            Round::Asks if asked_at.replace(machine.progress) == Some(machine.progress) => {
                return Err(stuck(warps, machine));
            }
            Round::Asks | Round::Advances => {}
        }
    }
}

/// What a block came to after a turn of each warp.
enum Round {
    Ended,
    /// Threads go on that have waited at a barrier.
    Advances,
    /// Some will ask again whether others have done something.
    Asks,
}

/// Gives each warp of a block a turn.
fn round(machine: &mut Machine, warps: &mut [Warp]) -> Result<Round, (usize, Stop)> {
    let count = warps.len();
    for turn in 0..count {
        let number = jitter::scheduled(turn, count, u64::from(machine.block) << 20 ^ u64::from(machine.phase));
        let warp = &mut warps[number];
        warp.run(machine).map_err(|stop| (number, stop))?;
    }
    if warps.iter().all(Warp::ended) {
        return Ok(Round::Ended);
    }
    for (number, warp) in warps.iter().enumerate() {
        if let Some(found) = warp.diverged(machine) {
            machine.report(number, found);
        }
    }
    let asks_again = warps.iter().any(Warp::polls);
    warps.iter_mut().for_each(Warp::resume);
    if complete(warps, machine) {
        machine.phase += 1;
        machine.effects += 1;
        return Ok(Round::Advances);
    }
    if asks_again { Ok(Round::Asks) } else { Err(stuck(warps, machine)) }
}

/// The warp of a block to blame if none can go on, and how it stopped.
fn stuck(warps: &[Warp], machine: &Machine) -> (usize, Stop) {
    let alive = |(_, warp): &(usize, &Warp)| !warp.ended();
    let first = warps.iter().enumerate().find(|(_, warp)| !warp.waits());
    let first = first.or_else(|| warps.iter().enumerate().find(alive));
    let (number, first) = first.expect("not all have ended");
    (number, deadlock(first, warps, machine))
}

/// Sets the registers that are the same for every block.
fn prepare(warp: &mut Warp, kernel: &Kernel, launch: &Launch, workspace: u64) {
    warp.registers.clear();
    warp.registers.resize(kernel.registers, [0; WARP]);
    for &(register, value) in &kernel.constants {
        warp.registers[register as usize] = [value; WARP];
    }
    for &(register, special) in &kernel.specials {
        let lanes = &mut warp.registers[register as usize];
        match special {
            Special::BlockSize(axis) => *lanes = [u64::from(launch.block[axis]); WARP],
            Special::GridSize(axis) => *lanes = [u64::from(launch.grid[axis]); WARP],
            Special::Lane => *lanes = std::array::from_fn(|lane| lane as u64),
            Special::LaneMask { below, itself, above } => {
                *lanes = std::array::from_fn(|lane| {
                    let (one, under) = (1u32 << lane, (1u32 << lane) - 1);
                    let pick = |wanted: bool, bits: u32| if wanted { bits } else { 0 };
                    u64::from(pick(below, under) | pick(itself, one) | pick(above, !(under | one)))
                });
            }
            Special::Shared { dynamic_only } => {
                let declared = if dynamic_only { 0 } else { kernel.shared };
                *lanes = [u64::from(declared + launch.shared); WARP];
            }
            Special::Fixed(value) => *lanes = [value; WARP],
            Special::Workspace { high } => {
                *lanes = [if high { workspace >> 32 } else { workspace & u64::from(u32::MAX) }; WARP];
            }
            Special::Thread(_) | Special::Block(_) | Special::Warp | Special::Grid => {}
        }
    }
}

/// Begins the warp of thread `first` of `block`.
fn enter(warp: &mut Warp, machine: &Machine, launch: &Launch, block: [u32; 3], first: u32) {
    let (kernel, tracked) = (machine.kernel, machine.checks.initialization);
    warp.local.reset(kernel.local as usize * WARP, 0xA5, !tracked);
    for &(register, special) in &kernel.specials {
        let lanes = &mut warp.registers[register as usize];
        match special {
            Special::Thread(axis) => {
                *lanes = std::array::from_fn(|lane| u64::from(coordinates(first + lane as u32, launch.block)[axis]));
            }
            Special::Block(axis) => *lanes = [u64::from(block[axis]); WARP],
            Special::Grid => *lanes = [machine.epoch.into(); WARP],
            Special::Warp => *lanes = [u64::from(first) / WARP as u64; WARP],
            _ => {}
        }
    }
    if let Some(frames) = kernel.frames {
        warp.registers[FRAME as usize] = [frames; WARP];
    }
    let threads = launch.block.iter().product::<u32>() - first;
    warp.begin(first as usize / WARP, if threads >= 32 { u32::MAX } else { (1 << threads) - 1 });
}

fn fault(stop: Stop, warp: usize, kernel: &Kernel, launch: &Launch, block: [u32; 3], module: &Module) -> Fault {
    let Stop { kind, lane, source, address, detail, near, notes } = stop;
    let thread = coordinates((warp * WARP + lane) as u32, launch.block);
    let ptx = (source.ptx > 0).then_some(source.ptx);
    let place = Place { kernel: kernel.name.clone(), source: module.source_line(source), ptx };
    Fault { kind, place, thread: ptx.map(|_| Thread { block, thread }), address, near, detail, notes }
}
