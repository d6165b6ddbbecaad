//! What the checkers know of global memory: who wrote it, who may touch it, and which allocations a launch touched.

use super::{BASE, Memory, SLOT_BITS, locate};
use crate::byte_set::ByteSet;
use crate::lanes::{Lanes, WARP};
use crate::race::Accessor;
use crate::shadowed_buffer::{Observed, ShadowedBuffer, Written};

impl Memory {
    /// Which of some bytes nobody has written; of no allocation, none.
    pub fn undefined(&self, address: u64, bytes: u64) -> ByteSet {
        match self.bytes(address, bytes) {
            Ok(_) => self.slots[locate(address).0].buffer.undefined.slice(locate(address).1, bytes as usize),
            Err(_) => ByteSet::empty(bytes as usize),
        }
    }

    /// Says which of some bytes, that were just written, are as undefined as what was written there.
    pub fn set_undefined(&mut self, address: u64, undefined: &ByteSet) {
        let (number, offset) = locate(address);
        if self.tracked && self.bytes(address, undefined.length() as u64).is_ok() {
            self.slots[number].buffer.undefined.copy_from(offset, undefined);
        }
    }

    /// Looks at a warp's reads; see [`ShadowedBuffer::reads`].
    pub fn reads(&mut self, bytes: usize, at: &Lanes, mask: u32, accessor: Option<&Accessor>, observed: &mut Observed) {
        self.each_slot(at, mask, false, |buffer, starts, mask| buffer.reads(bytes, starts, mask, accessor, observed));
    }

    /// Looks at a warp's writes; see [`ShadowedBuffer::writes`].
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
            buffer.writes(bytes, starts, mask, written, accessor, observed)
        });
    }

    /// Marks the bytes of an allocation that kernels have no business with.
    pub fn hide(&mut self, address: u64, hidden: ByteSet) {
        let (number, offset) = locate(address);
        if offset == 0 && self.bytes(address, hidden.length() as u64).is_ok_and(|bytes| bytes.len() == hidden.length())
        {
            self.slots[number].buffer.hidden = hidden;
        }
    }

    /// The first of some bytes that kernels have no business with.
    pub fn hidden(&self, address: u64, bytes: u64) -> Option<usize> {
        let (number, offset) = locate(address);
        let slot = self.slots.get(number).filter(|slot| slot.live && !slot.buffer.hidden.is_empty())?;
        self.bytes(address, bytes).ok()?;
        slot.buffer.hidden.find_in(offset, bytes as usize).map(|(first, _)| first - offset)
    }

    /// What is hidden of an allocation is hidden of its whole copy.
    pub fn copy_hidden(&mut self, to: u64, from: u64, bytes: u64) {
        let (number, offset) = locate(from);
        let hidden = &self.slots[number].buffer.hidden;
        if offset == 0 && !hidden.is_empty() && hidden.length() as u64 == bytes {
            let copy = hidden.slice(0, bytes as usize);
            self.hide(to, copy);
        }
    }

    /// Where the allocation that holds an address comes from, a line each.
    pub fn life(&self, address: u64) -> Vec<String> {
        self.slots.get(locate(address).0).map_or_else(Vec::new, |slot| slot.lifetime.notes())
    }

    /// Begins to note which allocations are touched.
    pub fn note_touched(&mut self) {
        self.touched = Some(Vec::new());
    }

    /// The allocations that were touched since, by their addresses, and whether they were written.
    pub fn touched(&mut self) -> Vec<(u64, bool)> {
        self.touched.take().unwrap_or_default()
    }

    fn touch(&mut self, number: usize, write: bool) {
        let base = self.address(number);
        let Some(touched) = &mut self.touched else { return };
        match touched.iter_mut().find(|(known, _)| *known == base) {
            Some((_, wrote)) => *wrote |= write,
            None => touched.push((base, write)),
        }
    }

    /// One live allocation at a time, with the offsets of the lanes that access it.
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
}
