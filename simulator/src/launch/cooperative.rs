//! Cooperative launches: the blocks of a grid take turns, as the warps of a block do, so that one may wait for others.

use super::{Ended, Round, enter, round, stuck};
use crate::jitter;
use crate::lanes::WARP;
use crate::shadowed_buffer::ShadowedBuffer;
use crate::warp::{BARRIERS, Machine, Warp};

/// What a block has for itself while others have their turn.
struct Block {
    place: [u32; 3],
    number: u32,
    shared: ShadowedBuffer,
    phase: u32,
    arrived: [u32; BARRIERS],
    has_acquired: bool,
    has_ended: bool,
}

impl Block {
    /// Gives the block its turn, or takes it back.
    fn exchange(&mut self, machine: &mut Machine) {
        std::mem::swap(&mut self.number, &mut machine.block);
        std::mem::swap(&mut self.shared, &mut machine.shared);
        std::mem::swap(&mut self.phase, &mut machine.phase);
        std::mem::swap(&mut self.arrived, &mut machine.arrived);
        std::mem::swap(&mut self.has_acquired, &mut machine.has_acquired);
    }
}

/// Runs all blocks of a grid, each with `count` of these warps. `done` gets what was found in the turn of a block.
pub fn together<E>(
    machine: &mut Machine,
    warps: &mut [Warp],
    count: usize,
    shared: usize,
    mut done: impl FnMut(&mut Machine, [u32; 3], Ended) -> Result<(), E>,
) -> Result<(), E> {
    let mut blocks = all(machine, shared);
    for (block, warps) in blocks.iter_mut().zip(warps.chunks_mut(count)) {
        block.exchange(machine);
        for (number, warp) in warps.iter_mut().enumerate() {
            enter(warp, machine, machine.launch, block.place, (number * WARP) as u32);
        }
        block.exchange(machine);
    }
    let (mut asked_at, mut sweep) = (None, 0);
    while blocks.iter().any(|block| !block.has_ended) {
        let mut all_ask = true;
        for turn in 0..blocks.len() {
            let index = jitter::scheduled(turn, blocks.len(), sweep);
            if blocks[index].has_ended {
                continue;
            }
            let (place, epoch) = (blocks[index].place, machine.epoch);
            blocks[index].exchange(machine);
            let came_to = round(machine, &mut warps[index * count..][..count]);
            if machine.epoch != epoch {
                // The others have not run since the barrier of the grid.
                for block in &mut blocks {
                    block.has_acquired = false;
                }
            }
            blocks[index].has_ended = matches!(came_to, Ok(Round::Ended));
            all_ask &= matches!(came_to, Ok(Round::Asks));
            done(machine, place, came_to.map(drop))?;
            blocks[index].exchange(machine);
        }
        sweep += 1;
        if all_ask && asked_at.replace(machine.progress) == Some(machine.progress) {
            let index = blocks.iter().position(|block| !block.has_ended).expect("not all have ended");
            let place = blocks[index].place;
            blocks[index].exchange(machine);
            let found = stuck(&warps[index * count..][..count], machine);
            done(machine, place, Err(found))?;
        }
    }
    Ok(())
}

/// The blocks of a grid, x first, with fresh memory.
fn all(machine: &Machine, bytes: usize) -> Vec<Block> {
    let ([width, height, _], count) = (machine.launch.grid, machine.launch.grid.iter().product());
    let block = |number: u32| Block {
        place: [number % width, number / width % height, number / (width * height)],
        number,
        shared: ShadowedBuffer::new(bytes, 0xA5, !machine.checks.initialization),
        phase: 0,
        arrived: [0; BARRIERS],
        has_acquired: false,
        has_ended: false,
    };
    (0..count).map(block).collect()
}
