//! Launches whose blocks take turns, as the warps of a block do, so that one may wait for others: cooperative ones, and small ones of
//! kernels that read flags or take locks.

use super::{Round, enter, round, stuck};
use crate::fault::Fault;
use crate::warp::{Block, Machine, Warp};

/// Runs all blocks of a grid, each with `count` of these warps.
pub fn run(machine: &mut Machine, warps: &mut [Warp], count: usize) -> Result<(), Fault> {
    // Each block while others have their turn, and whether it has ended.
    let mut blocks = begin(machine);
    for ((block, _), warps) in blocks.iter_mut().zip(warps.chunks_mut(count)) {
        std::mem::swap(block, &mut machine.block);
        for (number, warp) in warps.iter_mut().enumerate() {
            enter(warp, machine, number);
        }
        std::mem::swap(block, &mut machine.block);
    }
    let (mut asked_at, mut sweep) = (None, 0);
    while let Some(first) = blocks.iter().position(|(_, has_ended)| !has_ended) {
        let mut all_ask = true;
        for turn in 0..blocks.len() {
            let index = machine.schedule.turn(turn, blocks.len(), sweep);
            if blocks[index].1 {
                continue;
            }
            std::mem::swap(&mut blocks[index].0, &mut machine.block);
            let state = round(machine, &mut warps[index * count..][..count])?;
            std::mem::swap(&mut blocks[index].0, &mut machine.block);
            blocks[index].1 = matches!(state, Round::Ended);
            all_ask &= matches!(state, Round::Asks);
        }
        sweep += 1;
        if all_ask && asked_at.replace(machine.progress) == Some(machine.progress) {
            std::mem::swap(&mut blocks[first].0, &mut machine.block);
            return Err(stuck(&warps[first * count..][..count], machine));
        }
    }
    Ok(())
}

/// The blocks of a grid, x first, with fresh memory. None has ended.
fn begin(machine: &Machine) -> Vec<(Block, bool)> {
    let block = |number: u64| {
        let mut block = Block::default();
        block.begin(machine.kernel, machine.launch, number, machine.checks);
        (block, false)
    };
    (0..machine.launch.blocks()).map(block).collect()
}
