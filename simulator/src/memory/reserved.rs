//! Addresses that a graph reserves: each launch allocates its memory there again.

use super::{Memory, locate};
use crate::lifetime::Lifetime;

impl Memory {
    /// An address for `bytes` bytes, which are not allocated yet; `None` if they exceed the budget.
    pub fn reserve(&mut self, bytes: u64) -> Option<u64> {
        let address = self.allocate(bytes)?;
        self.slots[locate(address).0].reserved = true;
        self.free(address).ok()?;
        Some(address)
    }

    /// Allocates at a reserved address. `None` if it is in use, or the budget is exceeded.
    pub fn allocate_at(&mut self, address: u64) -> Option<()> {
        let now = self.now.clone();
        let room = self.budget - self.in_use;
        let (number, _) = locate(address);
        let slot = self.slots.get(number)?;
        if slot.live || !slot.reserved || slot.bytes > room {
            return None;
        }
        let (buffer, slot) = (self.fresh(slot.bytes)?, &mut self.slots[number]);
        slot.live = true;
        slot.lifetime = Lifetime { allocated: now, freed: None };
        slot.buffer = buffer;
        self.in_use += slot.bytes;
        Some(())
    }
}
