//! A launch that accesses pretended memory: its grid may be too large to run. Those blocks run first that are most likely to be
//! wrong or that write what the program reads, then the others in order, until enough instructions are executed.

use std::collections::HashSet;

use crate::config::Config;
use crate::fault::{Fault, Kind};
use crate::grid::Launch;
use crate::kernel::Kernel;
use crate::warp::Machine;

/// The part of a launch's budget after which no further block begins.
const SHARE: u64 = 100;

/// The threads by which an index of 31 or 32 bits overflows.
const EDGES: [u64; 4] = [1 << 31, (1 << 31) - 1, 1 << 32, (1 << 32) - 1];

/// Over how many parts of the grid blocks are spread.
const PARTS: u64 = 8;

/// Runs blocks of a launch, and returns how many. What the others may have written counts as written.
pub fn run<E>(
    machine: &mut Machine,
    launch: &Launch,
    config: &Config,
    mut run_block: impl FnMut(&mut Machine, [u32; 3]) -> Result<(), E>,
) -> Result<u64, E> {
    let first = first(launch, &config.probes);
    let known: HashSet<u64> = first.iter().copied().collect();
    let others = (0..launch.blocks()).filter(|number| !known.contains(number));
    let mut ran = 0;
    for number in first.into_iter().chain(others) {
        if ran >= known.len() as u64 && machine.executed() > config.budget / SHARE {
            machine.memory.assume_written(&launch.params);
            break;
        }
        // Races are not checked in blocks of so large a number.
        machine.block = u32::try_from(number).unwrap_or(u32::MAX);
        run_block(machine, launch.block_at(number))?;
        ran += 1;
    }
    Ok(ran)
}

/// The blocks that run in any case. A probe may be a block's element, or a thread's; a thread goes on in steps of all threads.
fn first(launch: &Launch, probes: &[u64]) -> Vec<u64> {
    let (blocks, each) = (launch.blocks(), launch.block.iter().map(|&size| u64::from(size)).product::<u64>());
    let of_thread = |thread: u64| thread % blocks.saturating_mul(each) / each;
    let mut chosen: Vec<u64> = probes.iter().flat_map(|&probe| [of_thread(probe), probe]).collect();
    chosen.extend([0, blocks - 1]);
    chosen.extend(EDGES.map(of_thread));
    chosen.extend((1..PARTS).map(|part| blocks / PARTS * part));
    let mut seen = HashSet::new();
    chosen.retain(|&number| number < blocks && seen.insert(number));
    chosen
}

/// What is known of a launch of which not all blocks `ran`.
pub fn left_out(ran: u64, kernel: &Kernel, launch: &Launch) -> Option<Fault> {
    let blocks = launch.blocks();
    let detail = format!("{ran} of {blocks} blocks ran, because not all that pretended memory needs can run");
    (ran < blocks).then(|| Fault {
        kind: Kind::Sampled,
        kernel: kernel.name.clone(),
        source: None,
        ptx: 0,
        block: [0; 3],
        thread: [0; 3],
        address: None,
        detail,
        near: String::new(),
        notes: Vec::new(),
    })
}
