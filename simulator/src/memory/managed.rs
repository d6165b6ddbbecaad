//! Managed memory, and pinned or registered memory of the host, which host and device access without a call: an allocation whose address is that of its bytes in the process.

use super::{AccessError, BASE, Memory, NUMBER_BITS, SLOT_BITS, locate};
use crate::bytes::Bytes;
use crate::lanes::{Lanes, lanes};
use crate::shadowed_buffer::ShadowedBuffer;
use crate::undefined::Undefined;

/// How far past managed memory an address still counts as one of it, and as out of its bounds.
const NEAR: u64 = 1 << 20;

impl Memory {
    /// The address of new managed memory, in the process's own memory; `None` if it exceeds the budget.
    pub fn allocate_managed(&mut self, bytes: u64) -> Option<u64> {
        let address = self.allocate(bytes)?;
        Some(self.in_process(address, bytes))
    }

    /// The address of new memory of the host, which kernels may access; `None` if there is no slot for it.
    pub fn allocate_host(&mut self, bytes: u64) -> Option<u64> {
        let data = Bytes::pages(bytes as usize)?;
        let address = self.place(ShadowedBuffer { data, ..ShadowedBuffer::default() }, true)?;
        Some(self.in_process(address, bytes))
    }

    /// Lets kernels access memory of the host, which the program keeps there until it is withdrawn. `None` if there is no slot for it.
    pub fn register(&mut self, bytes: &'static mut [u8]) -> Option<u64> {
        let length = bytes.len() as u64;
        let address = self.place(ShadowedBuffer { data: Bytes::OfHost(bytes), ..ShadowedBuffer::default() }, true)?;
        Some(self.in_process(address, length))
    }

    /// Ends that. The host may use the memory for something else, so that nothing is known of its addresses from now on.
    pub fn withdraw(&mut self, address: u64) -> Result<(), AccessError> {
        self.free(address)?;
        self.managed.remove(&address);
        Ok(())
    }

    /// Gives an allocation the address of its bytes in the process. They count as written: the host's writes are not seen.
    fn in_process(&mut self, address: u64, bytes: u64) -> u64 {
        let (number, _) = locate(address);
        let buffer = &mut self.slots[number].buffer;
        buffer.undefined = Undefined::new(bytes as usize, true);
        let host = buffer.data.as_ptr().addr() as u64;
        self.forget_freed(host, bytes);
        self.managed.insert(host, number);
        self.slots[number].in_process = Some(host);
        host
    }

    /// Forgets what was freed where something new is now, on this device or another: the two can no longer be told apart.
    pub fn forget_freed(&mut self, host: u64, bytes: u64) {
        self.managed.retain(|&start, other| start >= host + bytes || start + self.slots[*other].bytes <= host);
    }

    /// Whether this is an address of this device, or exactly in its managed memory. What is near that may be anything of the host.
    pub fn holds(&self, address: u64) -> bool {
        if address >> (SLOT_BITS + NUMBER_BITS) != 0 {
            return self.owns(address);
        }
        let nearest = self.managed.range(..=address).next_back();
        nearest.is_some_and(|(start, &number)| address - start < self.slots[number].bytes)
    }

    /// The addresses in slots of what a warp accesses.
    pub fn in_slots(&self, at: &mut Lanes, mask: u32) {
        if !self.managed.is_empty() {
            lanes(mask).for_each(|lane| at[lane] = self.in_slot(at[lane]));
        }
    }

    /// The address in its slot of a byte of managed memory. Other addresses stay as they are.
    pub(super) fn in_slot(&self, address: u64) -> u64 {
        if address >> (SLOT_BITS + NUMBER_BITS) != 0 {
            return address;
        }
        match self.managed.range(..=address).next_back() {
            Some((start, &number)) if address - start < self.slots[number].bytes + NEAR => {
                self.address(number) + (address - start)
            }
            _ => address,
        }
    }
}

const _: () = assert!(NEAR < BASE);
