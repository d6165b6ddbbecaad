//! The arrays of shared or local memory. Each has its own address slot and begins in the slot's middle, as a buffer of
//! global memory does: an access past its end does not hit the next array.

use crate::fault::Near;

/// The bits of an address within a slot.
const SLOT_BITS: u32 = 20;
/// Where an array begins in its slot, up to [`ALIGNED`]; also more bytes than an array can have.
const BASE: u32 = 1 << (SLOT_BITS - 1);
/// An address is aligned as the array's offset among the others is, up to this: a device guarantees no more.
const ALIGNED: u32 = 256;
/// The number of slots in 32 bits.
const MOST_ARRAYS: usize = 1 << (32 - SLOT_BITS);

/// The most shared memory that a kernel can declare: more than any device has, and cheap to simulate.
pub const MOST_SHARED: u32 = 512 << 10;
/// The most local memory of a thread (CUDA C++ Programming Guide, "Technical specifications").
pub const MOST_LOCAL: u32 = 512 << 10;

/// One array.
#[derive(Debug)]
struct Array {
    name: String,
    /// Its address.
    base: u32,
    /// Its offset in the memory of all arrays.
    start: u32,
    bytes: u32,
}

/// All arrays of one space, by the number of their slot.
#[derive(Debug, Default)]
pub struct Arrays {
    list: Vec<Array>,
    /// True if they lie side by side, as on a GPU: an access past the end of one hits the next.
    joined: bool,
    /// Bytes of all.
    pub bytes: u32,
}

impl Arrays {
    /// No arrays. `joined`: they will lie side by side.
    pub fn new(joined: bool) -> Self {
        Self { joined, ..Self::default() }
    }

    /// Puts an array after the others and returns its address. All together may have `most` bytes.
    pub fn place(&mut self, name: &str, bytes: u32, align: u32, most: u32) -> Result<u64, String> {
        let start = self.bytes.checked_next_multiple_of(align);
        let end = start.and_then(|start| start.checked_add(bytes)).filter(|&end| end <= most);
        self.bytes = end.ok_or("more shared or local memory than any device has")?;
        self.add(name, self.bytes - bytes, bytes)
    }

    /// Puts the dynamic shared array, whose size the launch decides, after the others and returns its address.
    pub fn place_dynamic(&mut self, name: &str, align: u32) -> Result<u64, String> {
        let address = self.place(name, 0, align, MOST_SHARED)?;
        self.list.iter_mut().last().into_iter().for_each(|array| array.bytes = u32::MAX);
        Ok(address)
    }

    fn add(&mut self, name: &str, start: u32, bytes: u32) -> Result<u64, String> {
        if self.list.len() == MOST_ARRAYS {
            return Err(format!("more than {MOST_ARRAYS} arrays of shared or local memory"));
        }
        let own = (self.list.len() as u32) << SLOT_BITS | BASE | (start % ALIGNED);
        let base = if self.joined { start } else { own };
        self.list.push(Array { name: short(name).to_string(), base, start, bytes });
        Ok(u64::from(base))
    }

    /// The offset of the `bytes` at an address in the memory of all arrays, if they are inside one array. The last array
    /// ends where that memory does.
    #[inline]
    pub fn find(&self, address: u64, bytes: u32) -> Option<usize> {
        if self.joined {
            return usize::try_from(address).ok();
        }
        let array = self.list.get((address >> SLOT_BITS) as usize)?;
        let offset = (address as u32).wrapping_sub(array.base);
        let inside = offset.checked_add(bytes)? <= array.bytes;
        inside.then_some(array.start as usize + offset as usize)
    }

    /// Describes what is at an address, if `held` bytes hold all arrays; also gives the array's range in them and the offset
    /// in it.
    pub fn describe(&self, address: u64, held: usize) -> (Near, Option<(std::ops::Range<usize>, i64)>) {
        let Some(array) = self.list.get((address >> SLOT_BITS) as usize) else {
            return (Near::NoArray, None);
        };
        let start = array.start as usize;
        let bytes = (array.bytes as usize).min(held.saturating_sub(start));
        let offset = address as i64 - i64::from(array.base);
        let near = Near::Array { name: array.name.clone(), offset, size: bytes as u64 };
        (near, Some((start..start + bytes, offset)))
    }
}

/// An array's name as in its source, without the function's name that the compiler puts before it: `_ZZ…E3shr` is `shr`.
fn short(name: &str) -> &str {
    let counted = |(at, _): (usize, &str)| {
        let rest = &name[at + 1..];
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (length, own) = rest.split_at(digits);
        (length.parse() == Ok(own.len())).then_some(own)
    };
    if !name.starts_with("_ZZ") {
        return name;
    }
    name.rmatch_indices('E').find_map(counted).unwrap_or(name)
}
