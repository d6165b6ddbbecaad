//! Runs a launch: one block after the other, each warp until it ends or waits.

mod cooperative;
mod orders;
mod sample;

use crate::config::Config;
use crate::fault::Fault;
use crate::grid::{Launch, coordinates};
use crate::kernel::{FRAME, Kernel, Special};
use crate::lanes::{Lanes, WARP};
use crate::schedule::Schedule;
use crate::warp::{Machine, Resources, Warp, complete, deadlock, report_divergence};
use std::sync::Arc;

pub use orders::run;

/// How many warps of a launch run at once if they may wait for each other, as on a GPU with room for them.
const AT_ONCE: u64 = 128;

/// Runs `kernel` to its end or first fault, on these register files. A cooperative launch has a `workspace`, where its blocks meet.
fn once(
    kernel: &Arc<Kernel>,
    launch: &Launch,
    config: &Config,
    warps: &mut Vec<Warp>,
    workspace: Option<u64>,
    (epoch, schedule): (u32, Schedule),
    resources: Resources,
) -> Result<(), Fault> {
    let is_sampled = resources.memory.has_pretended(&launch.params);
    let count = launch.warps();
    // If they do not wait for each other, warps run one after the other and share one register file.
    let at_once = kernel.asks && launch.blocks() > 1 && launch.blocks().saturating_mul(count as u64) <= AT_ONCE;
    let together = kernel.waits && (workspace.is_some() || at_once && !is_sampled);
    let files = match kernel.waits {
        true if together => count * launch.blocks() as usize,
        true => count,
        false => 1,
    };
    warps.resize_with(files.max(warps.len()), Warp::default);
    let warps = &mut warps[..files];
    for warp in &mut *warps {
        prepare(warp, kernel, launch, workspace.unwrap_or(0));
        warp.track(config.checks);
    }
    let takes_turns = kernel.waits && files > 1;
    let mut machine = Machine::new(kernel, launch, config, workspace, takes_turns, (epoch, schedule), resources);
    let ended = if together {
        cooperative::run(&mut machine, warps, count)
    } else if is_sampled {
        sample::run(&mut machine, config, |machine, number| {
            machine.block.begin(machine.kernel, launch, number, machine.checks);
            machine.block.shared.cells.clear();
            block(machine, warps)
        })
    } else {
        (0..launch.blocks()).try_for_each(|turn| {
            let number = schedule.block(turn, launch.blocks());
            machine.block.begin(kernel, launch, number, config.checks);
            if let Some(order) = &mut machine.order {
                order.end_blocks();
            }
            block(&mut machine, warps)
        })
    };
    machine.end(ended)
}

/// Runs the present block.
fn block(machine: &mut Machine, warps: &mut [Warp]) -> Result<(), Fault> {
    if machine.kernel.waits { interleaved(machine, warps) } else { one_by_one(machine, &mut warps[0]) }
}

fn one_by_one(machine: &mut Machine, warp: &mut Warp) -> Result<(), Fault> {
    let count = machine.launch.warps();
    for turn in 0..count {
        enter(warp, machine, machine.schedule.turn(turn, count, machine.block.number.into()));
        warp.run(machine)?;
        if !warp.ended() {
            return Err(deadlock(warp, std::slice::from_ref(warp), machine));
        }
    }
    Ok(())
}

fn interleaved(machine: &mut Machine, warps: &mut [Warp]) -> Result<(), Fault> {
    for (number, warp) in warps.iter_mut().enumerate() {
        enter(warp, machine, number);
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

/// The state of a block after a turn of each warp.
enum Round {
    Ended,
    /// Threads go on that have waited at a barrier.
    Advances,
    /// Some will ask again whether others have done something.
    Asks,
}

/// Gives each warp of a block a turn.
fn round(machine: &mut Machine, warps: &mut [Warp]) -> Result<Round, Fault> {
    let count = warps.len();
    for turn in 0..count {
        let phase = u64::from(machine.block.number) << 20 ^ u64::from(machine.block.phase);
        warps[machine.schedule.turn(turn, count, phase)].run(machine)?;
    }
    if warps.iter().all(Warp::ended) {
        return Ok(Round::Ended);
    }
    for warp in &*warps {
        report_divergence(warp, machine);
    }
    let asks_again = warps.iter().any(Warp::polls);
    warps.iter_mut().for_each(Warp::resume);
    if complete(warps, machine) {
        machine.effects += 1;
        return Ok(Round::Advances);
    }
    if asks_again { Ok(Round::Asks) } else { Err(stuck(warps, machine)) }
}

/// The fault if no warp of a block can go on: that of the first which does not only wait for the block.
fn stuck(warps: &[Warp], machine: &Machine) -> Fault {
    let first = warps.iter().find(|warp| !warp.waits()).or_else(|| warps.iter().find(|warp| !warp.ended()));
    deadlock(first.expect("not all have ended"), warps, machine)
}

/// Sets the registers that are the same for every block.
fn prepare(warp: &mut Warp, kernel: &Kernel, launch: &Launch, workspace: u64) {
    if warp.registers.len() < kernel.registers {
        warp.registers.resize(kernel.registers, [0; WARP]);
    }
    kernel.unset.iter().for_each(|&register| warp.registers[register as usize] = [0; WARP]);
    for &(register, value) in &kernel.constants {
        warp.registers[register as usize] = [value; WARP];
    }
    let lane_mask = |below: bool, itself: bool, above: bool| -> Lanes {
        std::array::from_fn(|lane| {
            let (one, under) = (1u32 << lane, (1u32 << lane) - 1);
            let pick = |wanted: bool, bits: u32| if wanted { bits } else { 0 };
            u64::from(pick(below, under) | pick(itself, one) | pick(above, !(under | one)))
        })
    };
    for &(register, special) in &kernel.specials {
        warp.registers[register as usize] = match special {
            Special::BlockSize(axis) => [launch.block[axis].into(); WARP],
            Special::GridSize(axis) => [launch.grid[axis].into(); WARP],
            Special::Lane => std::array::from_fn(|lane| lane as u64),
            Special::LaneMask { below, itself, above } => lane_mask(below, itself, above),
            Special::Shared { dynamic_only: true } => [launch.shared.into(); WARP],
            Special::Shared { dynamic_only: false } => [(kernel.shared + launch.shared).into(); WARP],
            Special::Fixed(value) => [value; WARP],
            Special::Workspace { high: true } => [workspace >> 32; WARP],
            Special::Workspace { high: false } => [workspace & u64::from(u32::MAX); WARP],
            Special::Thread(_) | Special::Block(_) | Special::Warp | Special::Grid => continue,
        };
    }
}

/// Begins warp `number` of the present block.
fn enter(warp: &mut Warp, machine: &Machine, number: usize) {
    let (kernel, launch, first) = (machine.kernel, machine.launch, (number * WARP) as u32);
    if kernel.local > 0 || !warp.local.data.is_empty() {
        warp.local.reset(kernel.local as usize * WARP, 0xA5, !machine.checks.initialization);
    }
    for &(register, special) in &kernel.specials {
        let register = &mut warp.registers[register as usize];
        match special {
            Special::Thread(axis) => {
                for (lane, value) in register.iter_mut().enumerate() {
                    *value = coordinates(first + lane as u32, launch.block)[axis].into();
                }
            }
            Special::Block(axis) => *register = [machine.block.at[axis].into(); WARP],
            Special::Grid => *register = [machine.epoch.into(); WARP],
            Special::Warp => *register = [number as u64; WARP],
            _ => {}
        }
    }
    if let Some(frames) = kernel.frames {
        warp.registers[FRAME as usize] = [frames; WARP];
        warp.clear_calls();
    }
    let threads = launch.threads() - first;
    warp.begin(number, if threads >= 32 { u32::MAX } else { (1 << threads) - 1 });
}
