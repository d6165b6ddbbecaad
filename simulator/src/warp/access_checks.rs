//! Checks a warp's access before it happens: bytes that were never written, races, and bytes outside of views.

use super::taint::Taint;
use super::{Machine, Warp, stop};
use crate::config::Checks;
use crate::fault::{Detail, How, Kind};
use crate::isa::Space;
use crate::kernel::{Inst, Kernel, Op, Register};
use crate::lanes::{Lanes, WARP};
use crate::race::{Accessor, EPOCHS};
use crate::shadowed_buffer::{Observed, UndefinedBytes, Written};

/// An access that a warp is about to make: in one space, lane by lane.
#[derive(Clone, Copy)]
pub struct WarpAccess<'a> {
    pub space: Space,
    pub bytes: usize,
    pub at: &'a Lanes,
    pub mask: u32,
}

impl Warp {
    /// Sets up the taint of registers.
    pub fn track(&mut self, checks: Checks) {
        let tracked = checks.initialization || checks.arithmetic;
        self.taints.clear();
        self.taints.resize(if tracked { self.registers.len() } else { 0 }, Taint::default());
        self.tainted = false;
    }

    /// Reports an address that is undefined, or a wrong number.
    pub(super) fn check_address(&self, machine: &mut Machine, inst: &Inst, mask: u32) {
        if self.tainted {
            self.report_undefined(machine, inst, inst.args[0], mask, "is used as an address");
            self.report_wrong_address(machine, inst, mask);
        }
    }

    /// Checks the access that an instruction is about to make.
    pub(super) fn check_access(&mut self, machine: &mut Machine, inst: &Inst, access: WarpAccess) {
        match inst.op {
            Op::Load { .. } => return self.check_read(machine, inst, access, inst.d),
            Op::Store { .. } | Op::Atomic { .. } => {}
            _ => return,
        }
        let source = inst.args[1] as usize;
        let mut undefined: UndefinedBytes = if self.tainted { self.taints[source].undefined } else { [0; WARP] };
        let changes = !self.changes_nothing(machine, inst, access, &undefined);
        let accessor = self.accessor(machine, inst, access.space, changes);
        let mut observed = Observed::default();
        if let Op::Atomic { .. } = inst.op {
            self.reads(machine, access, None, &mut observed);
            self.remember_undefined(machine, inst.d, access, &observed);
            undefined.iter_mut().zip(&observed.undefined).for_each(|(own, read)| *own |= read);
        }
        let values = self.registers[source];
        let written = Written { values: &values, undefined: &undefined };
        let WarpAccess { space, bytes, at, mask } = access;
        match space {
            Space::Shared | Space::Local => {
                let starts = starts(machine.kernel, space, bytes, at);
                let buffer = if space == Space::Shared { &mut machine.shared } else { &mut self.local };
                buffer.writes(bytes, &starts, mask, written, accessor.as_ref(), &mut observed);
            }
            _ => machine.memory.writes(bytes, at, mask, written, accessor.as_ref(), &mut observed),
        }
        self.report_observed(machine, inst, access, &observed);
    }

    /// Checks a read into register `d`.
    pub(super) fn check_read(&mut self, machine: &mut Machine, inst: &Inst, access: WarpAccess, d: Register) {
        // Nothing else changes what the only warp of a launch reads.
        let may_change = !matches!(inst.op, Op::Load { .. }) || !machine.alone && !self.reads_alone(machine, inst);
        let accessor = self.accessor(machine, inst, access.space, may_change);
        let mut observed = Observed::default();
        self.reads(machine, access, accessor.as_ref(), &mut observed);
        self.remember_undefined(machine, d, access, &observed);
        self.report_observed(machine, inst, access, &observed);
    }

    /// The accessor for the race checker; `None` in a thread's own memory, where nothing races. `matters`: the access is one by
    /// which threads can affect each other.
    fn accessor(&self, machine: &mut Machine, inst: &Inst, space: Space, matters: bool) -> Option<Accessor> {
        machine.effects += u64::from(matters);
        machine.progress += u64::from(!matches!(inst.op, Op::Load { .. }));
        let epoch = match space {
            Space::Global => machine.epoch,
            // Each block has shared memory of its own.
            Space::Shared => machine.block % (EPOCHS - 1) + 1,
            _ => return None,
        };
        let has_acquired = machine.has_acquired;
        machine.has_acquired |= inst.acquires && !machine.asks_grid_barrier();
        let accessor = Accessor {
            epoch,
            block: machine.block,
            warp: self.number as u32,
            phase: machine.phase,
            step: self.step,
            pc: machine.pc,
            strong: inst.strong,
            has_acquired,
        };
        Some(accessor).filter(|accessor| machine.checks.races && accessor.is_in_range())
    }

    fn reads(
        &mut self,
        machine: &mut Machine,
        access: WarpAccess,
        accessor: Option<&Accessor>,
        observed: &mut Observed,
    ) {
        let WarpAccess { space, bytes, at, mask } = access;
        match space {
            Space::Shared | Space::Local => {
                let starts = starts(machine.kernel, space, bytes, at);
                let buffer = if space == Space::Shared { &mut machine.shared } else { &mut self.local };
                buffer.reads(bytes, &starts, mask, accessor, observed);
            }
            _ => machine.memory.reads(bytes, at, mask, accessor, observed),
        }
    }

    /// Records which bytes of a register were read from memory that was never written.
    fn remember_undefined(&mut self, machine: &mut Machine, d: Register, access: WarpAccess, observed: &Observed) {
        let WarpAccess { space, at, mask, .. } = access;
        let Some(lane) = observed.undefined_lane else { return self.clear_taint(d, mask) };
        let address = at[lane] + u64::from(observed.undefined[lane].trailing_zeros());
        let place = machine.describe_address(space, address);
        machine.origins.entry(machine.pc).or_insert((address, place));
        self.taint(d, mask, &Taint { undefined: observed.undefined, origin: machine.pc, ..Taint::default() });
    }

    /// Reports what the checks found.
    fn report_observed(
        &self,
        machine: &mut Machine,
        inst: &Inst,
        WarpAccess { space, at, .. }: WarpAccess,
        observed: &Observed,
    ) {
        let how = if matches!(inst.op, Op::Load { .. }) { How::Read } else { How::Write };
        if let Some((lane, earlier)) = &observed.race {
            let before = if earlier.write { How::Write } else { How::Read };
            let detail = Detail::Race { how, earlier: before, space: space.into() };
            let mut found = stop(Kind::Race, inst, 1 << lane, detail);
            (found.address, found.near) = (Some(at[*lane]), Some(machine.describe_address(space, at[*lane])));
            found.notes.push(machine.other_side(before, earlier));
            machine.report(self.number, found);
        }
        if let Some(lane) = observed.outside {
            let detail = Detail::OutOfView { how, space: space.into() };
            let mut found = stop(Kind::OutOfView, inst, 1 << lane, detail);
            (found.address, found.near) = (Some(at[lane]), Some(machine.describe_address(space, at[lane])));
            machine.report(self.number, found);
        }
    }
}

/// The offset of each lane's address in the memory of all arrays of its space; beyond it, if the address is in no array.
fn starts(kernel: &Kernel, space: Space, bytes: usize, at: &Lanes) -> Lanes {
    let (arrays, stride) = match space {
        Space::Shared => (&kernel.shared_arrays, 0),
        _ => (&kernel.local_arrays, kernel.local as usize),
    };
    std::array::from_fn(|lane| match arrays.find(at[lane], bytes as u32) {
        Some(start) => (lane * stride + start) as u64,
        None => u64::MAX,
    })
}
