//! Where a warp reads and writes: global memory, the block's shared memory, or each thread's own.

use crate::fault::Kind;
use crate::isa::Space;
use crate::lanes::{Lanes, lanes};
use crate::memory::{Memory, Trouble};

/// The memories of a warp, and which is meant.
pub struct Place<'a> {
    pub space: Space,
    pub memory: &'a mut Memory,
    pub shared: &'a mut [u8],
    pub local: &'a mut [u8],
    /// Bytes of one thread's local memory.
    pub stride: usize,
}

/// Nothing, or the lane that was in trouble.
pub type Done = Result<(), (usize, Trouble)>;

impl Place<'_> {
    pub fn load(&mut self, bytes: u8, at: &Lanes, mask: u32, out: &mut Lanes) -> Done {
        if self.space == Space::Global {
            return match bytes {
                1 => self.memory.gather::<1>(at, mask, out),
                2 => self.memory.gather::<2>(at, mask, out),
                4 => self.memory.gather::<4>(at, mask, out),
                _ => self.memory.gather::<8>(at, mask, out),
            };
        }
        for lane in lanes(mask) {
            let found = self.window(bytes, at[lane], lane)?;
            let mut wide = [0; 8];
            wide[..found.len()].copy_from_slice(found);
            out[lane] = u64::from_le_bytes(wide);
        }
        Ok(())
    }

    pub fn store(&mut self, bytes: u8, at: &Lanes, mask: u32, values: &Lanes) -> Done {
        if self.space == Space::Global {
            return match bytes {
                1 => self.memory.scatter::<1>(at, mask, values),
                2 => self.memory.scatter::<2>(at, mask, values),
                4 => self.memory.scatter::<4>(at, mask, values),
                _ => self.memory.scatter::<8>(at, mask, values),
            };
        }
        for lane in lanes(mask) {
            self.window(bytes, at[lane], lane)?.copy_from_slice(&values[lane].to_le_bytes()[..usize::from(bytes)]);
        }
        Ok(())
    }

    /// The trouble of an address that is no multiple of `bytes`.
    pub fn misaligned(address: u64, bytes: u64) -> Trouble {
        Trouble { kind: Kind::Misaligned, address, place: format!("no multiple of {bytes}"), notes: Vec::new() }
    }

    /// A lane's bytes of shared or local memory.
    fn window(&mut self, bytes: u8, address: u64, lane: usize) -> Result<&mut [u8], (usize, Trouble)> {
        let window: &mut [u8] = if self.space == Space::Shared {
            self.shared
        } else {
            self.local.get_mut(lane * self.stride..(lane + 1) * self.stride).unwrap_or_default()
        };
        let size = window.len();
        let start = usize::try_from(address).unwrap_or(usize::MAX);
        let kind = if address.is_multiple_of(u64::from(bytes)) { Kind::OutOfWindow } else { Kind::Misaligned };
        let end = start.saturating_add(usize::from(bytes));
        match window.get_mut(start..end) {
            Some(found) if kind == Kind::OutOfWindow => Ok(found),
            _ => {
                let place = format!("offset {address} of {size} bytes");
                Err((lane, Trouble { kind, address, place, notes: Vec::new() }))
            }
        }
    }
}

/// The lanes whose generic addresses are in `space`; their addresses become offsets where it has a window.
pub fn resolve(space: Space, at: &mut Lanes, mask: u32) -> u32 {
    let mut found = 0;
    for lane in lanes(mask) {
        let (own, window) = match at[lane] {
            address if address >> 34 != 0 => (Space::Global, 0),
            address if address & Space::SHARED_WINDOW != 0 => (Space::Shared, Space::SHARED_WINDOW),
            address if address & Space::LOCAL_WINDOW != 0 => (Space::Local, Space::LOCAL_WINDOW),
            _ => (Space::Global, 0),
        };
        if own == space {
            found |= 1 << lane;
            at[lane] -= window;
        }
    }
    found
}
