//! Memory as a GPU has it: allocations lie side by side in large chunks, which are mapped as long as the device is open. An access a
//! little outside of one reaches another, or what no allocation holds; only an address outside of all chunks faults.

use std::collections::BTreeMap;

/// What the pool that candle allocates of maps at once (measured: `docs/gpu/h200.md`).
const CHUNK: u64 = 32 << 20;
/// What the sizes of allocations are rounded up to.
const ALIGNED: u64 = 512;

/// What is allocated of the mapped chunks.
#[derive(Debug, Default)]
pub struct Pages {
    mapped: u64,
    /// The allocations: where each begins, and its bytes.
    live: BTreeMap<u64, u64>,
    /// The gaps between them.
    free: BTreeMap<u64, u64>,
}

impl Pages {
    /// Bytes of all chunks.
    pub fn mapped(&self) -> u64 {
        self.mapped
    }

    /// Where `bytes` bytes go: in the first gap that holds them, or at the end, for which chunks are added.
    pub fn allocate(&mut self, bytes: u64) -> u64 {
        let room = bytes.max(1).next_multiple_of(ALIGNED);
        if !self.free.values().any(|&gap| gap >= room) {
            let more = room.next_multiple_of(CHUNK);
            self.add_gap(self.mapped, more);
            self.mapped += more;
        }
        let (&start, &gap) = self.free.iter().find(|&(_, &gap)| gap >= room).expect("chunks were added");
        self.free.remove(&start);
        if gap > room {
            self.free.insert(start + room, gap - room);
        }
        self.live.insert(start, bytes);
        start
    }

    /// Frees the allocation that begins there, and returns its bytes.
    pub fn free(&mut self, start: u64) -> Option<u64> {
        let bytes = self.live.remove(&start)?;
        self.add_gap(start, bytes.max(1).next_multiple_of(ALIGNED));
        Some(bytes)
    }

    fn add_gap(&mut self, mut start: u64, mut bytes: u64) {
        if let Some(after) = self.free.remove(&(start + bytes)) {
            bytes += after;
        }
        if let Some((&before, &its)) = self.free.range(..start).next_back()
            && before + its == start
        {
            self.free.remove(&before);
            (start, bytes) = (before, its + bytes);
        }
        self.free.insert(start, bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::{CHUNK, Pages};

    #[test]
    fn allocations_lie_side_by_side_and_a_freed_one_is_reused() {
        let mut pages = Pages::default();
        let [a, b, c] = [1, 513, 4].map(|bytes| pages.allocate(bytes));
        assert_eq!(([a, b, c], pages.mapped()), ([0, 512, 1536], CHUNK));
        assert_eq!((pages.free(b), pages.free(b)), (Some(513), None));
        assert_eq!([pages.allocate(512), pages.allocate(512), pages.allocate(512)], [512, 1024, 2048]);
    }

    #[test]
    fn gaps_side_by_side_are_one() {
        let mut pages = Pages::default();
        let all = [0; 4].map(|bytes| pages.allocate(bytes));
        for at in [1, 3, 0, 2] {
            pages.free(all[at]);
        }
        assert_eq!((pages.allocate(CHUNK), pages.mapped()), (0, CHUNK));
        assert_eq!((pages.allocate(1), pages.mapped()), (CHUNK, 2 * CHUNK));
    }
}
