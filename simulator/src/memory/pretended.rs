//! Pretended memory: allocations that are too large to hold. Their addresses are exact, and they take what is written to them.

use super::{AccessError, Memory, locate};
use crate::lanes::{Lanes, lanes};
use crate::shadowed_buffer::{ShadowedBuffer, UndefinedBits};
use crate::undefined::Undefined;

impl Memory {
    /// Whether an address is in a live allocation that is pretended.
    pub fn is_pretended(&self, address: u64) -> bool {
        self.pretend.is_some() && self.pretended(address).is_some()
    }

    /// The slot of a live allocation that is pretended.
    fn pretended(&self, address: u64) -> Option<usize> {
        let (number, _) = locate(address);
        let slot = self.slots.get(number).filter(|slot| self.owns(address) && slot.live)?;
        slot.buffer.is_pretended().then_some(number)
    }

    /// Whether one of a kernel's parameters is an address of pretended memory.
    pub fn has_pretended(&self, params: &[u8]) -> bool {
        self.pretend.is_some() && addresses(params).any(|address| self.is_pretended(address))
    }

    /// Counts all bytes as written of the pretended allocations that a kernel has got: blocks of it that were left out may have
    /// written them.
    pub fn assume_written(&mut self, params: &[u8]) {
        for address in addresses(params) {
            if let Some(number) = self.pretended(address) {
                let undefined = &mut self.slots[number].buffer.undefined;
                *undefined = Undefined::new(undefined.length(), true);
            }
        }
    }

    /// Fills a range of one live allocation with copies of a value.
    pub fn fill(&mut self, address: u64, bytes: u64, value: &[u8]) -> Result<(), AccessError> {
        self.bytes(address, bytes)?;
        let (number, offset) = locate(self.in_slot(address));
        let ShadowedBuffer { data, undefined, .. } = &mut self.slots[number].buffer;
        undefined.clear(offset, bytes as usize);
        data.fill(offset, bytes as usize, value);
        Ok(())
    }

    /// Copies to pretended memory what lies in another allocation. Both ranges are in bounds.
    pub fn copy_to_pretended(&mut self, to: u64, from: u64, bytes: u64) {
        let ((number, start), (source, offset)) = (locate(to), locate(self.in_slot(from)));
        let slots = self.slots.get_disjoint_mut([number, source]);
        let [there, here] = slots.expect("two allocations").map(|slot| &mut slot.buffer);
        let bytes = bytes as usize;
        there.data.write(start, &here.data[offset..offset + bytes]);
        if self.tracked {
            there.undefined.copy_from(start, &here.undefined.slice(offset, bytes));
        }
    }

    /// Whether memory already holds all that the lanes of `mask` are about to write, and knows it to be as defined.
    pub fn holds_already(
        &self,
        bytes: usize,
        at: &Lanes,
        mask: u32,
        values: &Lanes,
        undefined: &UndefinedBits,
    ) -> bool {
        lanes(mask).all(|lane| {
            let (number, offset) = locate(at[lane]);
            let same = |held: &[u8]| *held == values[lane].to_le_bytes()[..bytes];
            self.bytes(at[lane], bytes as u64).is_ok_and(same)
                && self.slots[number].buffer.undefined.at(offset, bytes)
                    == undefined[lane] & u64::MAX >> (64 - 8 * bytes)
        })
    }
}

/// The parameters that may be addresses, which are aligned.
fn addresses(params: &[u8]) -> impl Iterator<Item = u64> {
    params.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes")))
}
