//! A launch that accesses pretended memory: its grid may be too large to run. Those blocks run first that write what the program
//! reads or are most likely to be wrong, then the others in order, until enough instructions are executed.

use std::collections::HashSet;

use crate::config::Config;
use crate::fault::{Detail, Fault, Kind};
use crate::grid::Launch;
use crate::warp::Machine;

/// The warp instructions after which no further block begins, other than those that run in any case.
const ENOUGH: u64 = 2_000_000;

/// The threads by which an index of 31 or 32 bits overflows.
const EDGES: [u64; 4] = [1 << 31, (1 << 31) - 1, 1 << 32, (1 << 32) - 1];

/// Over how many parts of the grid blocks are spread.
const PARTS: u64 = 8;

/// Runs blocks of a launch, by number, and reports how many. What the others may have written counts as written.
pub fn run(
    machine: &mut Machine,
    config: &Config,
    mut run_block: impl FnMut(&mut Machine, u64) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let blocks = machine.launch.blocks();
    let (always, next) = chosen(machine.launch, &config.probes);
    let mut ran = HashSet::new();
    for (turn, number) in always.iter().copied().chain(next).chain(0..blocks).enumerate() {
        if turn >= always.len() && machine.executed() > ENOUGH {
            break;
        }
        if number < blocks && ran.insert(number) {
            run_block(machine, number)?;
        }
    }
    let ran = ran.len() as u64;
    if ran < blocks {
        machine.memory.assume_written(&machine.launch.params);
        let detail = Detail::Sampled { ran, of: blocks };
        machine.reports.push(Fault::new(Kind::Sampled, machine.kernel.name.clone(), detail));
    }
    Ok(())
}

/// The blocks that run in any case, and those that run next. A probe may be the element of a block, or of a thread, which goes on in
/// steps of all threads.
fn chosen(launch: &Launch, probes: &[u64]) -> (Vec<u64>, Vec<u64>) {
    let (blocks, each) = (launch.blocks(), launch.block.iter().map(|&size| u64::from(size)).product::<u64>());
    let of_thread = |thread: u64| thread % blocks.saturating_mul(each) / each;
    let probed = probes.iter().flat_map(|&probe| [of_thread(probe), probe]);
    let always = probed.chain([0, blocks - 1]).collect();
    let spread = (1..PARTS).map(|part| blocks / PARTS * part);
    (always, EDGES.map(of_thread).into_iter().chain(spread).collect())
}
