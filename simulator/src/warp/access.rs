//! Loads, stores and atomics of a warp.

use super::access_checks::WarpAccess;
use super::{Machine, Stop, Warp, extend, stop};
use crate::address_space::{AddressSpace, resolve};
use crate::fault::{Detail, How, Kind, Near};
use crate::isa::Space;
use crate::kernel::{Inst, Op};
use crate::lanes::{Lanes, WARP, lanes};
use crate::memory::AccessError;

impl Warp {
    pub(super) fn access(&mut self, machine: &mut Machine, inst: &Inst, mask: u32) -> Result<(), Stop> {
        let (space, bytes) = match inst.op {
            Op::Load { space, bytes, .. } | Op::Store { space, bytes } => (space, bytes),
            Op::Atomic { space, bytes, .. } | Op::Align { space, bytes } => (space, bytes),
            _ => return Ok(()),
        };
        let mut at = self.registers[inst.args[0] as usize];
        for address in &mut at {
            *address = displaced(space, *address, inst.offset);
        }
        self.access_at(space, bytes, machine, inst, &mut at, mask)
    }

    /// Accesses memory at these addresses.
    #[inline]
    pub(super) fn access_at(
        &mut self,
        space: Space,
        bytes: u8,
        machine: &mut Machine,
        inst: &Inst,
        at: &mut Lanes,
        mask: u32,
    ) -> Result<(), Stop> {
        if matches!(space, Space::Global | Space::Generic) {
            machine.memory.in_slots(at, mask);
        }
        if space == Space::Generic {
            return self.generic(machine, inst, at, mask);
        }
        self.access_in(space, bytes, machine, inst, at, mask)
    }

    /// Lanes of a generic access may be in different spaces, which are accessed one after the other.
    fn generic(&mut self, machine: &mut Machine, inst: &Inst, at: &Lanes, mask: u32) -> Result<(), Stop> {
        let (Op::Load { bytes, .. } | Op::Store { bytes, .. } | Op::Atomic { bytes, .. } | Op::Align { bytes, .. }) =
            inst.op
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
        let how = match inst.op {
            Op::Load { .. } => How::Read,
            Op::Store { .. } => How::Write,
            Op::Atomic { .. } => How::Atomic,
            _ => How::Access,
        };
        let at_barrier = machine.grid_barrier.is_some() && machine.is_at_grid_barrier(inst, space, at, mask);
        self.check_access(machine, inst, WarpAccess { space, bytes: bytes.into(), at, mask });
        let (kernel, memory) = (machine.kernel, &mut *machine.memory);
        let (shared, local) = (&mut machine.shared.data[..], &mut self.local.data[..]);
        let mut address_space = AddressSpace { space, kernel, memory, shared, local };
        let done = match inst.op {
            Op::Load { signed, .. } => {
                let d = &mut self.registers[inst.d as usize];
                let read = address_space.load(bytes, at, mask, d);
                if signed && bytes < 8 {
                    lanes(mask).for_each(|lane| d[lane] = extend(d[lane], bytes, true));
                }
                read
            }
            Op::Store { .. } => address_space.store(bytes, at, mask, &self.registers[b]),
            Op::Atomic { update, .. } => {
                let (operand, other) = (self.registers[b], self.registers[c]);
                let d = &mut self.registers[inst.d as usize];
                lanes(mask).try_for_each(|lane| {
                    address_space.load(bytes, at, 1 << lane, d)?;
                    let mut new = [0; WARP];
                    new[lane] = update(d[lane], operand[lane], other[lane]);
                    address_space.store(bytes, at, 1 << lane, &new)
                })
            }
            _ => match lanes(mask).find(|&lane| !at[lane].is_multiple_of(u64::from(bytes))) {
                Some(lane) => {
                    let near = Near::NotMultiple { of: bytes.into(), vector: true };
                    Err((lane, AccessError { kind: Kind::Misaligned, address: at[lane], near, notes: Vec::new() }))
                }
                None => Ok(()),
            },
        };
        if at_barrier {
            machine.update_grid_barrier();
        }
        done.map_err(|(lane, error)| {
            let detail = Detail::Access { how, space: space.into(), bytes: bytes.into() };
            stop(error.kind, inst, 1 << lane, detail).at(error)
        })
    }
}

/// An address plus its offset. An address of shared or local memory may be in a register of 32 bits, and wraps there.
pub(super) fn displaced(space: Space, address: u64, offset: i64) -> u64 {
    match u32::try_from(address) {
        Ok(narrow) if matches!(space, Space::Shared | Space::Local) => u64::from(narrow.wrapping_add(offset as u32)),
        _ => address.wrapping_add(offset as u64),
    }
}
