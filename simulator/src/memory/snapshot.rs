//! Copies of all that a device's memory holds, to run a launch again from where it began.

use super::Memory;
use crate::bytes::Bytes;
use crate::undefined::Undefined;

/// The bytes of all allocations, and which of their bits were never written.
#[derive(Debug)]
pub struct Snapshot(Vec<(usize, Vec<u8>, Undefined)>);

impl Memory {
    /// A copy of what the memory holds; `None` if that is more than `most` bytes, or pretended.
    pub fn snapshot(&self, most: usize) -> Option<Snapshot> {
        let live = || self.slots.iter().enumerate().filter(|(_, slot)| slot.live);
        let bytes: usize = live().map(|(_, slot)| slot.buffer.data.len()).sum();
        let is_pretended = live().any(|(_, slot)| matches!(slot.buffer.data, Bytes::Pretended(_)));
        let copy = || live().map(|(number, slot)| (number, slot.buffer.data.to_vec(), slot.buffer.undefined.clone()));
        (bytes <= most && !is_pretended).then(|| Snapshot(copy().collect()))
    }

    /// Makes the memory hold what it did. No allocation has been made or freed since.
    pub fn restore(&mut self, snapshot: &Snapshot) {
        for (number, bytes, undefined) in &snapshot.0 {
            let buffer = &mut self.slots[*number].buffer;
            buffer.data.copy_from_slice(bytes);
            buffer.undefined = undefined.clone();
        }
    }
}
