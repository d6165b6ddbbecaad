//! Where an access goes, who makes it, and what it counts: the same for all ways to make one.

use super::{Machine, Warp};
use crate::isa::Space;
use crate::kernel::{Inst, Op};
use crate::race::{Accessor, EPOCHS, Order};

/// An address plus its offset. An address of shared or local memory may be in a register of 32 bits, and wraps there.
pub(super) fn displaced(space: Space, address: u64, offset: i64) -> u64 {
    match u32::try_from(address) {
        Ok(narrow) if matches!(space, Space::Shared | Space::Local) => u64::from(narrow.wrapping_add(offset as u32)),
        _ => address.wrapping_add(offset as u64),
    }
}

/// Counts an access. `matters`: it is one by which threads can affect each other.
pub(super) fn count(machine: &mut Machine, inst: &Inst, matters: bool) {
    machine.effects += u64::from(matters);
    machine.progress += u64::from(!matches!(inst.op, Op::Load { .. }));
}

/// The accessor for the race checker; `None` in a thread's own memory, where nothing races.
pub(super) fn accessor<'a>(
    warp: &Warp,
    machine: &Machine,
    inst: &Inst,
    space: Space,
    order: Option<&'a Order>,
) -> Option<Accessor<'a>> {
    let epoch = match space {
        Space::Global => machine.epoch,
        // Each block has shared memory of its own.
        Space::Shared => machine.block.number % (EPOCHS - 1) + 1,
        _ => return None,
    };
    let accessor = Accessor {
        epoch,
        block: machine.block.number,
        warp: warp.number as u32,
        phase: machine.block.phase,
        step: warp.step,
        pc: machine.pc,
        strong: inst.strength.map(|strength| strength.scope),
        order,
    };
    Some(accessor).filter(|accessor| machine.checks.races && accessor.is_in_range())
}
