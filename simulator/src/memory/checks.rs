//! What the checkers know about global memory: bytes that were never written, bytes outside of views, and the allocations
//! that a launch accessed.

use super::{BASE, Memory, SLOT_BITS, locate};
use crate::byte_set::ByteSet;
use crate::fault::Note;
use crate::lanes::{Lanes, WARP};
use crate::race::Accessor;
use crate::shadowed_buffer::{Observed, ShadowedBuffer, Written};

impl Memory {
    /// Which of these bytes were never written; none, if they are not in an allocation.
    pub fn undefined(&self, address: u64, bytes: u64) -> ByteSet {
        match self.bytes(address, bytes) {
            Ok(_) => {
                let (number, offset) = locate(self.in_slot(address));
                self.slots[number].buffer.undefined.slice(offset, bytes as usize)
            }
            Err(_) => ByteSet::empty(bytes as usize),
        }
    }

    /// Sets which of these bytes, which were just written, are undefined because their source was.
    pub fn set_undefined(&mut self, address: u64, undefined: &ByteSet) {
        let (number, offset) = locate(self.in_slot(address));
        if self.tracked && self.bytes(address, undefined.length() as u64).is_ok() {
            self.slots[number].buffer.undefined.copy_from(offset, undefined);
        }
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

    /// Hides bytes of an allocation: kernels must not access them.
    pub fn hide(&mut self, address: u64, hidden: ByteSet) {
        let (number, offset) = locate(self.in_slot(address));
        if offset == 0 && self.bytes(address, hidden.length() as u64).is_ok_and(|bytes| bytes.len() == hidden.length())
        {
            self.slots[number].buffer.hidden = hidden;
        }
    }

    /// The first hidden byte of these.
    pub fn hidden(&self, address: u64, bytes: u64) -> Option<usize> {
        let (number, offset) = locate(self.in_slot(address));
        let slot = self.slots.get(number).filter(|slot| slot.live && !slot.buffer.hidden.is_empty())?;
        self.bytes(address, bytes).ok()?;
        slot.buffer.hidden.find_in(offset, bytes as usize).map(|(first, _)| first - offset)
    }

    /// Hides the same bytes in a copy of a whole allocation.
    pub fn copy_hidden(&mut self, to: u64, from: u64, bytes: u64) {
        let (number, offset) = locate(self.in_slot(from));
        let hidden = &self.slots[number].buffer.hidden;
        if offset == 0 && !hidden.is_empty() && hidden.length() as u64 == bytes {
            let copy = hidden.slice(0, bytes as usize);
            self.hide(to, copy);
        }
    }

    /// When the allocation at an address was made and freed.
    pub fn life(&self, address: u64) -> Vec<Note> {
        self.slots.get(locate(self.in_slot(address)).0).map_or_else(Vec::new, |slot| slot.lifetime.notes())
    }

    /// Starts to record which allocations are accessed.
    pub fn note_touched(&mut self) {
        self.touched = Some(Vec::new());
    }

    /// The bases of the allocations that were accessed since, and whether they were written.
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
}
