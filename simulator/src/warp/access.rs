//! Loads, stores and atomics of a warp.

use super::note::Touch;
use super::{Machine, Stop, Warp, extend, stop};
use crate::fault::Kind;
use crate::isa::Space;
use crate::kernel::{Do, Inst};
use crate::lanes::{Lanes, WARP, lanes};
use crate::memory::Trouble;
use crate::place::{Place, resolve};

impl Warp {
    pub(super) fn access(&mut self, machine: &mut Machine, inst: &Inst, mask: u32) -> Result<(), Stop> {
        let [a, ..] = inst.args.map(|arg| arg as usize);
        let mut at = self.registers[a];
        let (space, bytes) = match inst.what {
            Do::Load { space, bytes, .. } | Do::Store { space, bytes } => (space, bytes),
            Do::Atomic { space, bytes, .. } | Do::Align { space, bytes } => (space, bytes),
            _ => return Ok(()),
        };
        for address in &mut at {
            *address = displaced(space, *address, inst.offset);
        }
        if space == Space::Generic {
            return self.generic(machine, inst, &at, mask);
        }
        self.access_in(space, bytes, machine, inst, &at, mask)
    }

    /// Lanes of a generic access may be in different spaces: one after the other.
    fn generic(&mut self, machine: &mut Machine, inst: &Inst, at: &Lanes, mask: u32) -> Result<(), Stop> {
        let (Do::Load { bytes, .. } | Do::Store { bytes, .. } | Do::Atomic { bytes, .. } | Do::Align { bytes, .. }) =
            inst.what
        else {
            return Ok(());
        };
        for space in [Space::Global, Space::Shared, Space::Local] {
            let mut offsets = *at;
            let mask = resolve(space, &mut offsets, mask);
            if mask != 0 {
                self.access_in(space, bytes, machine, inst, &offsets, mask)?;
            }
        }
        Ok(())
    }

    fn access_in(
        &mut self,
        space: Space,
        bytes: u8,
        machine: &mut Machine,
        inst: &Inst,
        at: &Lanes,
        mask: u32,
    ) -> Result<(), Stop> {
        let [_, b, c, _] = inst.args.map(|arg| arg as usize);
        let what = match inst.what {
            Do::Load { .. } => "read",
            Do::Store { .. } => "write",
            Do::Atomic { .. } => "atomic",
            _ => "access",
        };
        self.note(machine, inst, Touch { space, bytes: bytes.into(), at, mask });
        let (kernel, memory) = (machine.kernel, &mut *machine.memory);
        let (shared, local) = (&mut machine.shared.data[..], &mut self.local.data[..]);
        let mut place = Place { space, kernel, memory, shared, local };
        let done = match inst.what {
            Do::Load { signed, .. } => {
                let d = &mut self.registers[inst.d as usize];
                let read = place.load(bytes, at, mask, d);
                if signed && bytes < 8 {
                    lanes(mask).for_each(|lane| d[lane] = extend(d[lane], bytes, true));
                }
                read
            }
            Do::Store { .. } => place.store(bytes, at, mask, &self.registers[b]),
            Do::Atomic { update, .. } => {
                let (operand, other) = (self.registers[b], self.registers[c]);
                let d = &mut self.registers[inst.d as usize];
                lanes(mask).try_for_each(|lane| {
                    place.load(bytes, at, 1 << lane, d)?;
                    let mut new = [0; WARP];
                    new[lane] = update(d[lane], operand[lane], other[lane]);
                    place.store(bytes, at, 1 << lane, &new)
                })
            }
            _ => match lanes(mask).find(|&lane| !at[lane].is_multiple_of(u64::from(bytes))) {
                Some(lane) => {
                    let place = format!("no multiple of {bytes}, as a vector's must be");
                    Err((lane, Trouble { kind: Kind::Misaligned, address: at[lane], place, notes: Vec::new() }))
                }
                None => Ok(()),
            },
        };
        done.map_err(|(lane, trouble)| {
            let space = format!("{space:?}").to_lowercase();
            let detail = format!("Invalid __{space}__ {what} of size {bytes} bytes");
            let stop = stop(trouble.kind, inst, 1 << lane, detail);
            Stop { address: Some(trouble.address), near: trouble.place, notes: trouble.notes, ..stop }
        })
    }
}

/// An address and its offset. That of shared or local memory may be in a register of 32 bits, and wraps as such.
fn displaced(space: Space, address: u64, offset: i64) -> u64 {
    match u32::try_from(address) {
        Ok(narrow) if matches!(space, Space::Shared | Space::Local) => u64::from(narrow.wrapping_add(offset as u32)),
        _ => address.wrapping_add(offset as u64),
    }
}
