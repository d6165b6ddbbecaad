//! What the checkers note of a warp's access before it happens: which bytes nobody wrote, and who was there before.

use super::taint::Taint;
use super::{Machine, Warp, stop};
use crate::config::Checks;
use crate::fault::Kind;
use crate::isa::Space;
use crate::kernel::{Do, Inst, Register};
use crate::lanes::{Lanes, WARP};
use crate::launch::coordinates;
use crate::piece::{Holes, Seen, Written};
use crate::race::{EPOCHS, Earlier, Who};

impl Warp {
    /// Sets up what the checkers keep of registers and local memory.
    pub fn track(&mut self, checks: Checks) {
        let tracked = checks.initialization || checks.arithmetic;
        self.taints.clear();
        self.taints.resize(if tracked { self.registers.len() } else { 0 }, Taint::default());
        self.tainted = false;
    }

    /// Notes the access of an instruction in one space, where lane by lane it accesses `at`.
    pub(super) fn note(
        &mut self,
        machine: &mut Machine,
        inst: &Inst,
        space: Space,
        bytes: usize,
        at: &Lanes,
        mask: u32,
    ) {
        match inst.what {
            Do::Load { .. } => return self.note_read(machine, inst, space, bytes, at, mask, inst.d),
            Do::Store { .. } | Do::Atomic { .. } => {}
            _ => return,
        }
        let who = self.who(machine, inst, space);
        let mut seen = Seen::default();
        let source = inst.args[1] as usize;
        let mut holes: Holes = if self.tainted { self.taints[source].holes } else { [0; WARP] };
        if let Do::Atomic { .. } = inst.what {
            self.reads(machine, space, bytes, at, mask, None, &mut seen);
            self.remember(machine, inst.d, space, at, mask, &seen);
            holes.iter_mut().zip(&seen.holes).for_each(|(hole, read)| *hole |= read);
        }
        let values = self.registers[source];
        let written = Written { values: &values, holes: &holes };
        match space {
            Space::Shared => machine.shared.writes(bytes, at, mask, written, who.as_ref(), &mut seen),
            Space::Local => self.local.writes(bytes, &self.own(machine, at), mask, written, None, &mut seen),
            _ => machine.memory.writes(bytes, at, mask, written, who.as_ref(), &mut seen),
        }
        self.tell(machine, inst, space, at, &seen);
    }

    /// Notes a read into register `d`.
    pub(super) fn note_read(
        &mut self,
        machine: &mut Machine,
        inst: &Inst,
        space: Space,
        bytes: usize,
        at: &Lanes,
        mask: u32,
        d: Register,
    ) {
        let who = self.who(machine, inst, space);
        let mut seen = Seen::default();
        self.reads(machine, space, bytes, at, mask, who.as_ref(), &mut seen);
        self.remember(machine, d, space, at, mask, &seen);
        self.tell(machine, inst, space, at, &seen);
    }

    /// Who races; `None` where nobody does: in what is a thread's own.
    fn who(&self, machine: &mut Machine, inst: &Inst, space: Space) -> Option<Who> {
        // What the only warp of a launch reads, nobody else changes.
        if !machine.alone || !matches!(inst.what, Do::Load { .. }) {
            machine.effects += 1;
        }
        let epoch = match space {
            Space::Global => machine.epoch,
            // Each block has shared memory of its own.
            Space::Shared => machine.block % (EPOCHS - 1) + 1,
            _ => return None,
        };
        let acquainted = machine.acquainted;
        machine.acquainted |= inst.acquires;
        machine.checks.races.then_some(Who {
            epoch,
            block: machine.block,
            warp: self.number as u32,
            phase: machine.phase,
            step: self.step,
            pc: machine.pc,
            strong: inst.strong,
            acquainted,
        })
    }

    fn reads(
        &mut self,
        machine: &mut Machine,
        space: Space,
        bytes: usize,
        at: &Lanes,
        mask: u32,
        who: Option<&Who>,
        seen: &mut Seen,
    ) {
        match space {
            Space::Shared => machine.shared.reads(bytes, at, mask, who, seen),
            Space::Local => self.local.reads(bytes, &self.own(machine, at), mask, None, seen),
            _ => machine.memory.reads(bytes, at, mask, who, seen),
        }
    }

    /// Where in the warp's local memory each lane's own address is.
    fn own(&self, machine: &Machine, at: &Lanes) -> Lanes {
        let stride = u64::from(machine.kernel.local);
        std::array::from_fn(|lane| if at[lane] < stride { lane as u64 * stride + at[lane] } else { u64::MAX })
    }

    /// Keeps which bytes of a register came from where nobody wrote.
    fn remember(&mut self, machine: &mut Machine, d: Register, space: Space, at: &Lanes, mask: u32, seen: &Seen) {
        let Some(lane) = seen.hole else { return self.clean(d, mask) };
        let address = at[lane] + u64::from(seen.holes[lane].trailing_zeros());
        let place = match space {
            Space::Global => machine.memory.place(address),
            _ => format!("at offset {} of {} memory", address, format!("{space:?}").to_lowercase()),
        };
        machine.origins.entry(machine.pc).or_insert((address, place));
        self.taint(d, mask, &Taint { holes: seen.holes, origin: machine.pc, ..Taint::default() });
    }

    /// Reports what was seen.
    fn tell(&self, machine: &mut Machine, inst: &Inst, space: Space, at: &Lanes, seen: &Seen) {
        let name = format!("{space:?}").to_lowercase();
        let what = if matches!(inst.what, Do::Load { .. }) { "read" } else { "write" };
        let place = |machine: &Machine, lane: usize| match space {
            Space::Global => machine.memory.place(at[lane]),
            _ => String::new(),
        };
        if let Some((lane, earlier)) = &seen.clash {
            let before = if earlier.write { "write" } else { "read" };
            let detail = format!("Race reported between {what} access and {before} access to __{name}__ memory");
            let mut found = stop(Kind::Race, inst, 1 << lane, detail);
            (found.address, found.near) = (Some(at[*lane]), place(machine, *lane));
            found.notes.push(machine.other_side(before, earlier));
            machine.report(self.number, found);
        }
        if let Some(lane) = seen.outside {
            let detail = format!("Outside the view: __{name}__ {what}");
            let mut found = stop(Kind::OutOfView, inst, 1 << lane, detail);
            (found.address, found.near) = (Some(at[lane]), place(machine, lane));
            machine.report(self.number, found);
        }
    }
}

impl Machine<'_> {
    fn other_side(&self, what: &str, earlier: &Earlier) -> String {
        let [tx, ty, tz] = coordinates(earlier.thread, self.launch.block);
        // Stamps know the low 16 bits of a block's number; blocks run in order.
        let block = self.block - (self.block.wrapping_sub(earlier.block) & 0xffff);
        let [bx, by, bz] = coordinates(block, self.launch.grid);
        let line = self.line(earlier.pc);
        format!("and {what} access {line} by thread ({tx},{ty},{tz}) in block ({bx},{by},{bz})")
    }
}
