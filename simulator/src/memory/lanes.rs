//! A warp's loads and stores of global memory, their checks, and the record of the allocations that a launch accesses.

use super::{AccessError, BASE, Memory, NUMBER_BITS, SLOT_BITS, locate};
use crate::fault::{Kind, Near};
use crate::lanes::{Lanes, WARP, lanes};
use crate::race::Accessor;
use crate::shadowed_buffer::{Observed, ShadowedBuffer, Written};

impl Memory {
    /// Reads `N` bytes for each lane of `mask` into `out`.
    pub fn gather<const N: usize>(&self, at: &Lanes, mask: u32, out: &mut Lanes) -> Result<(), (usize, AccessError)> {
        let mut cached = usize::MAX;
        let mut data: &[u8] = &[];
        for lane in lanes(mask) {
            let address = at[lane];
            let (number, offset) = locate(address);
            if number != cached {
                cached = number;
                data = self.live_data(address, number);
            }
            match data.get(offset..).and_then(<[u8]>::first_chunk::<N>) {
                Some(bytes) if address.is_multiple_of(N as u64) => out[lane] = from_bytes(bytes),
                _ => return Err((lane, self.error_of_access(address, N as u64))),
            }
        }
        Ok(())
    }

    /// Writes the low `N` bytes of each lane of `mask`.
    pub fn scatter<const N: usize>(
        &mut self,
        at: &Lanes,
        mask: u32,
        values: &Lanes,
    ) -> Result<(), (usize, AccessError)> {
        let mut rest = mask;
        // One slot at a time, to look it up once: lanes almost always write to one buffer.
        while rest != 0 {
            let first = at[rest.trailing_zeros() as usize];
            let (number, _) = locate(first);
            let live = self.is_live(first, number);
            let mut bad = None;
            let data: &mut [u8] = if live { &mut self.slots[number].buffer.data } else { &mut [] };
            for lane in lanes(rest) {
                let address = at[lane];
                if address >> SLOT_BITS != first >> SLOT_BITS {
                    break;
                }
                let offset = (address & ((1 << SLOT_BITS) - 1)).wrapping_sub(BASE) as usize;
                match data.get_mut(offset..).and_then(<[u8]>::first_chunk_mut::<N>) {
                    Some(bytes) if address.is_multiple_of(N as u64) => {
                        bytes.copy_from_slice(&values[lane].to_le_bytes()[..N]);
                        rest &= !(1 << lane);
                    }
                    _ => {
                        bad = Some((lane, address));
                        break;
                    }
                }
            }
            if let Some((lane, address)) = bad {
                return Err((lane, self.error_of_access(address, N as u64)));
            }
        }
        Ok(())
    }

    /// Checks a warp's reads; see [`ShadowedBuffer::reads`].
    pub fn reads(&mut self, bytes: usize, at: &Lanes, mask: u32, accessor: Option<&Accessor>, observed: &mut Observed) {
        self.each_slot(at, mask, false, |buffer, starts, mask| buffer.reads(bytes, starts, mask, accessor, observed));
    }

    /// Checks a warp's writes; see [`ShadowedBuffer::writes`].
    pub fn writes(
        &mut self,
        bytes: usize,
        at: &Lanes,
        mask: u32,
        written: Written,
        accessor: Option<&Accessor>,
        observed: &mut Observed,
    ) {
        self.each_slot(at, mask, true, |buffer, starts, mask| {
            buffer.writes(bytes, starts, mask, written, accessor, observed);
        });
    }

    /// The number of the live allocation that holds these bytes, and where in it they are. `None` also for memory that host and device
    /// share.
    #[inline]
    pub fn find(&self, address: u64, length: usize) -> Option<(usize, usize)> {
        let (number, start) = locate(address);
        let is_own = address >> (SLOT_BITS + NUMBER_BITS) == self.ordinal;
        let bytes = self.slots.get(number).filter(|slot| is_own && slot.live)?.buffer.data.len();
        start.checked_add(length).filter(|&end| end <= bytes)?;
        Some((number, start))
    }

    /// The live allocation of this number, which is about to be accessed.
    #[inline]
    pub fn buffer(&mut self, number: usize, write: bool) -> &mut ShadowedBuffer {
        self.touch(number, write);
        &mut self.slots[number].buffer
    }

    fn touch(&mut self, number: usize, write: bool) {
        let base = self.address(number);
        let Some(touched) = &mut self.touched else { return };
        match touched.iter_mut().find(|(known, _)| *known == base) {
            Some((_, wrote)) => *wrote |= write,
            None => touched.push((base, write)),
        }
    }

    /// Visits the live allocations that lanes access, with the lanes' offsets.
    fn each_slot(
        &mut self,
        at: &Lanes,
        mask: u32,
        write: bool,
        mut visit: impl FnMut(&mut ShadowedBuffer, &Lanes, u32),
    ) {
        let mut rest = mask;
        while rest != 0 {
            let first = at[rest.trailing_zeros() as usize];
            let (mut here, mut starts) = (0, [0; WARP]);
            for lane in 0..WARP {
                here |= u32::from(at[lane] >> SLOT_BITS == first >> SLOT_BITS) << lane;
                starts[lane] = (at[lane] & ((1 << SLOT_BITS) - 1)).wrapping_sub(BASE);
            }
            let (number, _) = locate(first);
            if self.is_live(first, number) {
                self.touch(number, write);
                visit(&mut self.slots[number].buffer, &starts, here & rest);
            }
            rest &= !here;
        }
    }

    fn live_data(&self, address: u64, number: usize) -> &[u8] {
        if self.is_live(address, number) { &self.slots[number].buffer.data } else { &[] }
    }

    fn error_of_access(&self, address: u64, bytes: u64) -> AccessError {
        match self.bytes(address, bytes) {
            Ok(_) => {
                let near = Near::NotMultiple { of: bytes, vector: false };
                AccessError { kind: Kind::Misaligned, near, ..self.error(address, bytes) }
            }
            Err(error) => error,
        }
    }
}

fn from_bytes<const N: usize>(bytes: &[u8; N]) -> u64 {
    let mut wide = [0; 8];
    wide[..N].copy_from_slice(bytes);
    u64::from_le_bytes(wide)
}
