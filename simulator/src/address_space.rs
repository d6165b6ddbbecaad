//! Where a warp reads and writes: global memory, the block's shared memory, or each thread's own.

use crate::dump;
use crate::fault::{Kind, Near};
use crate::isa::Space;
use crate::kernel::{Arrays, Kernel};
use crate::lanes::{Lanes, lanes};
use crate::memory::{AccessError, Memory};

/// The memories of a warp, and the one that is addressed.
pub struct AddressSpace<'a> {
    pub space: Space,
    pub kernel: &'a Kernel,
    pub memory: &'a mut Memory,
    pub shared: &'a mut [u8],
    /// The local memory of all threads, thread by thread.
    pub local: &'a mut [u8],
}

/// Nothing, or the first lane whose access fails, and why.
pub type Done = Result<(), (usize, AccessError)>;

impl AddressSpace<'_> {
    pub fn load(&mut self, bytes: u8, at: &Lanes, mask: u32, out: &mut Lanes) -> Done {
        match bytes {
            1 => self.gather::<1>(at, mask, out),
            2 => self.gather::<2>(at, mask, out),
            4 => self.gather::<4>(at, mask, out),
            _ => self.gather::<8>(at, mask, out),
        }
    }

    pub fn store(&mut self, bytes: u8, at: &Lanes, mask: u32, values: &Lanes) -> Done {
        match bytes {
            1 => self.scatter::<1>(at, mask, values),
            2 => self.scatter::<2>(at, mask, values),
            4 => self.scatter::<4>(at, mask, values),
            _ => self.scatter::<8>(at, mask, values),
        }
    }

    fn gather<const N: usize>(&mut self, at: &Lanes, mask: u32, out: &mut Lanes) -> Done {
        if self.space == Space::Global {
            return self.memory.gather::<N>(at, mask, out);
        }
        for lane in lanes(mask) {
            let Some(found) = self.window::<N>(at[lane], lane) else {
                return Err(self.error(at[lane], N as u64, lane));
            };
            let mut wide = [0; 8];
            wide[..N].copy_from_slice(found);
            out[lane] = u64::from_le_bytes(wide);
        }
        Ok(())
    }

    fn scatter<const N: usize>(&mut self, at: &Lanes, mask: u32, values: &Lanes) -> Done {
        if self.space == Space::Global {
            return self.memory.scatter::<N>(at, mask, values);
        }
        for lane in lanes(mask) {
            let Some(found) = self.window::<N>(at[lane], lane) else {
                return Err(self.error(at[lane], N as u64, lane));
            };
            found.copy_from_slice(&values[lane].to_le_bytes()[..N]);
        }
        Ok(())
    }

    /// The error for an address that is not a multiple of `bytes`.
    pub fn misaligned(address: u64, bytes: u64) -> AccessError {
        let near = Near::NotMultiple { of: bytes, vector: false };
        AccessError { kind: Kind::Misaligned, address, near, notes: Vec::new() }
    }

    /// A lane's bytes of shared or local memory.
    fn window<const N: usize>(&mut self, address: u64, lane: usize) -> Option<&mut [u8]> {
        let (arrays, held) = self.arrays(lane);
        let start = arrays.find(address, N as u32).filter(|_| address.is_multiple_of(N as u64))?;
        held.get_mut(start..start + N)
    }

    /// The arrays of shared memory, or of a lane's local memory, and their bytes.
    fn arrays(&mut self, lane: usize) -> (&Arrays, &mut [u8]) {
        if self.space == Space::Shared {
            return (&self.kernel.shared_arrays, self.shared);
        }
        let stride = self.kernel.local as usize;
        (&self.kernel.local_arrays, self.local.get_mut(lane * stride..(lane + 1) * stride).unwrap_or_default())
    }

    /// What is wrong with a lane's address of shared or local memory.
    #[cold]
    fn error(&mut self, address: u64, bytes: u64, lane: usize) -> (usize, AccessError) {
        let kind = if address.is_multiple_of(bytes) { Kind::OutOfWindow } else { Kind::Misaligned };
        let (arrays, held) = self.arrays(lane);
        let (near, array) = arrays.describe(address, held.len());
        let dumped = array.and_then(|(range, offset)| dump::around(held.get(range)?, offset, bytes));
        (lane, AccessError { kind, address, near, notes: dumped.into_iter().collect() })
    }
}

/// The lanes whose generic addresses are in `space`; their addresses become those of the space itself.
pub fn resolve(space: Space, at: &mut Lanes, mask: u32) -> u32 {
    let mut found = 0;
    for lane in lanes(mask) {
        if Space::of_generic(at[lane]) == space {
            found |= 1 << lane;
            at[lane] -= space.window();
        }
    }
    found
}
