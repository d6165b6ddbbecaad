//! What the checkers note of a warp's access before it happens: which bytes nobody wrote, and who was there before.

use super::taint::Taint;
use super::{Machine, Warp, stop};
use crate::config::Checks;
use crate::fault::Kind;
use crate::isa::Space;
use crate::kernel::{Do, Inst, Kernel, Register};
use crate::lanes::{Lanes, WARP};
use crate::piece::{Holes, Seen, Written};
use crate::race::{EPOCHS, Who};

/// What a warp is about to access: in one space, lane by lane.
#[derive(Clone, Copy)]
pub struct Touch<'a> {
    pub space: Space,
    pub bytes: usize,
    pub at: &'a Lanes,
    pub mask: u32,
}

impl Warp {
    /// Sets up what the checkers keep of registers and local memory.
    pub fn track(&mut self, checks: Checks) {
        let tracked = checks.initialization || checks.arithmetic;
        self.taints.clear();
        self.taints.resize(if tracked { self.registers.len() } else { 0 }, Taint::default());
        self.tainted = false;
    }

    /// Notes what an instruction is about to access.
    pub(super) fn note(&mut self, machine: &mut Machine, inst: &Inst, touch: Touch) {
        match inst.what {
            Do::Load { .. } => return self.note_read(machine, inst, touch, inst.d),
            Do::Store { .. } | Do::Atomic { .. } => {}
            _ => return,
        }
        let who = self.who(machine, inst, touch.space);
        let mut seen = Seen::default();
        let source = inst.args[1] as usize;
        let mut holes: Holes = if self.tainted { self.taints[source].holes } else { [0; WARP] };
        if let Do::Atomic { .. } = inst.what {
            self.reads(machine, touch, None, &mut seen);
            self.remember(machine, inst.d, touch, &seen);
            holes.iter_mut().zip(&seen.holes).for_each(|(hole, read)| *hole |= read);
        }
        let values = self.registers[source];
        let written = Written { values: &values, holes: &holes };
        let Touch { space, bytes, at, mask } = touch;
        match space {
            Space::Shared | Space::Local => {
                let starts = starts(machine.kernel, space, bytes, at);
                let piece = if space == Space::Shared { &mut machine.shared } else { &mut self.local };
                piece.writes(bytes, &starts, mask, written, who.as_ref(), &mut seen);
            }
            _ => machine.memory.writes(bytes, at, mask, written, who.as_ref(), &mut seen),
        }
        self.tell(machine, inst, touch, &seen);
    }

    /// Notes a read into register `d`.
    pub(super) fn note_read(&mut self, machine: &mut Machine, inst: &Inst, touch: Touch, d: Register) {
        let who = self.who(machine, inst, touch.space);
        let mut seen = Seen::default();
        self.reads(machine, touch, who.as_ref(), &mut seen);
        self.remember(machine, d, touch, &seen);
        self.tell(machine, inst, touch, &seen);
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

    fn reads(&mut self, machine: &mut Machine, touch: Touch, who: Option<&Who>, seen: &mut Seen) {
        let Touch { space, bytes, at, mask } = touch;
        match space {
            Space::Shared | Space::Local => {
                let starts = starts(machine.kernel, space, bytes, at);
                let piece = if space == Space::Shared { &mut machine.shared } else { &mut self.local };
                piece.reads(bytes, &starts, mask, who, seen);
            }
            _ => machine.memory.reads(bytes, at, mask, who, seen),
        }
    }

    /// Keeps which bytes of a register came from where nobody wrote.
    fn remember(&mut self, machine: &mut Machine, d: Register, touch: Touch, seen: &Seen) {
        let Touch { space, at, mask, .. } = touch;
        let Some(lane) = seen.hole else { return self.clean(d, mask) };
        let address = at[lane] + u64::from(seen.holes[lane].trailing_zeros());
        let place = machine.place(space, address);
        machine.origins.entry(machine.pc).or_insert((address, place));
        self.taint(d, mask, &Taint { holes: seen.holes, origin: machine.pc, ..Taint::default() });
    }

    /// Reports what was seen.
    fn tell(&self, machine: &mut Machine, inst: &Inst, Touch { space, at, .. }: Touch, seen: &Seen) {
        let name = format!("{space:?}").to_lowercase();
        let what = if matches!(inst.what, Do::Load { .. }) { "read" } else { "write" };
        if let Some((lane, earlier)) = &seen.clash {
            let before = if earlier.write { "write" } else { "read" };
            let detail = format!("Race reported between {what} access and {before} access to __{name}__ memory");
            let mut found = stop(Kind::Race, inst, 1 << lane, detail);
            (found.address, found.near) = (Some(at[*lane]), machine.place(space, at[*lane]));
            found.notes.push(machine.other_side(before, earlier));
            machine.report(self.number, found);
        }
        if let Some(lane) = seen.outside {
            let detail = format!("Outside the view: __{name}__ {what}");
            let mut found = stop(Kind::OutOfView, inst, 1 << lane, detail);
            (found.address, found.near) = (Some(at[lane]), machine.place(space, at[lane]));
            machine.report(self.number, found);
        }
    }
}

/// Where each lane's address lies in the memory that holds all arrays of its space; beyond it, where in none of them.
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
