//! Runs a launch, and again in other orders if its course may depend on the order of its threads: if it has no race, and some thread
//! learned from an atomic or a flag what others had done. A launch without either does the same in every order.

use std::sync::Arc;

use super::once;
use crate::config::Config;
use crate::effort::Effort;
use crate::fault::{Fault, Kind};
use crate::grid::Launch;
use crate::kernel::{Kernel, Op, SINK};
use crate::schedule::Schedule;
use crate::warp::{Counters, Resources, Warp};

/// Memory of more bytes than this is not copied, and launches that use it run in one order.
const MOST: usize = 64 << 20;

/// Runs `kernel` to its end or first fault, on these register files. A cooperative launch has a `workspace`, where its blocks meet.
pub fn run(
    kernel: &Arc<Kernel>,
    launch: &Launch,
    config: &Config,
    warps: &mut Vec<Warp>,
    workspace: Option<u64>,
    resources: Resources,
) -> Result<(), Fault> {
    let Resources { counters, memory, module, effort, reports, printed } = resources;
    let varies =
        config.orders > 1 && config.checks.races && learns(kernel) && u64::from(launch.threads()) * launch.blocks() > 1;
    let before = varies.then(|| memory.snapshot(MOST)).flatten();
    let epoch = memory.begin(kernel);
    let known = reports.len();
    let main = Resources { counters, memory: &mut *memory, module, effort, reports: &mut *reports, printed };
    once(kernel, launch, config, warps, workspace, (epoch, Schedule::default()), main)?;
    let races = reports[known..].iter().any(|report| report.kind == Kind::Race);
    let Some(before) = before.filter(|_| !races) else { return Ok(()) };
    let Some(after) = memory.snapshot(MOST) else { return Ok(()) };
    for order in 1..config.orders {
        memory.restore(&before);
        // Only what goes wrong is of interest.
        let (mut counters, mut effort, mut printed, mut found) =
            (Counters::of(kernel), Effort::default(), String::new(), Vec::new());
        let epoch = memory.begin_again();
        let other = Resources {
            counters: &mut counters,
            memory: &mut *memory,
            module,
            effort: &mut effort,
            reports: &mut found,
            printed: &mut printed,
        };
        let ended = once(kernel, launch, config, warps, workspace, (epoch, Schedule(order)), other);
        found.extend(ended.err());
        // Threads that wait for others may wait forever in another order, if they rely on that of the hardware.
        found.retain(|fault| {
            matches!(fault.kind, Kind::Race | Kind::OutOfBounds | Kind::OutOfWindow | Kind::UseAfterFree)
        });
        if !found.is_empty() {
            let note = |mut fault: Fault| {
                fault.notes.push(
                    format!("only where blocks and warps run in another order than usual: in order {order}").into(),
                );
                fault
            };
            reports.extend(found.into_iter().map(note));
            break;
        }
    }
    memory.restore(&after);
    Ok(())
}

/// Whether a thread of a kernel may learn from others what they have done, other than by a race.
fn learns(kernel: &Kernel) -> bool {
    let reads = |op: &Op| matches!(op, Op::Load { .. } | Op::Atomic { .. });
    kernel.code.iter().any(|inst| inst.strength.is_some() && reads(&inst.op) && inst.d != SINK)
}
