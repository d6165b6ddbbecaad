//! The arrays of shared or local memory. Each has a slot of addresses of its own and begins in the slot's middle, as a
//! buffer of global memory does: what goes past its end is not in the next array, and is known for what it is.

/// The bits of an address within an array's slot.
const SLOT_BITS: u32 = 20;
/// Where an array begins in its slot, but for [`ALIGNED`]; also more bytes than an array can have.
const BASE: u32 = 1 << (SLOT_BITS - 1);
/// An address is as aligned as the array's place among the others, up to this: no better than a device promises.
const ALIGNED: u32 = 256;
/// How many slots 32 bits can tell apart.
const MOST_ARRAYS: usize = 1 << (32 - SLOT_BITS);

/// Bytes of shared memory that a kernel can declare: more than any device has, and little enough to simulate.
pub const MOST_SHARED: u32 = 512 << 10;
/// Bytes of local memory that a thread can have (CUDA C++ Programming Guide, "Technical specifications").
pub const MOST_LOCAL: u32 = 512 << 10;

/// One array.
#[derive(Debug)]
struct Array {
    name: String,
    /// Its address.
    base: u32,
    /// Its place in the memory that holds all of them.
    start: u32,
    bytes: u32,
}

/// All arrays of one space, by the number of their slot.
#[derive(Debug, Default)]
pub struct Arrays {
    list: Vec<Array>,
    /// Bytes of all.
    pub bytes: u32,
}

impl Arrays {
    /// Puts an array behind the others; its address. `most` bytes is what all may have.
    pub fn place(&mut self, name: &str, bytes: u32, align: u32, most: u32) -> Result<u64, String> {
        let start = self.bytes.checked_next_multiple_of(align);
        let end = start.and_then(|start| start.checked_add(bytes)).filter(|&end| end <= most);
        self.bytes = end.ok_or("more shared or local memory than any device has")?;
        self.add(name, self.bytes - bytes, bytes)
    }

    /// Puts the shared array behind the others that is as long as the launch makes it; its address.
    pub fn place_dynamic(&mut self, name: &str, align: u32) -> Result<u64, String> {
        let address = self.place(name, 0, align, MOST_SHARED)?;
        self.list.iter_mut().last().into_iter().for_each(|array| array.bytes = u32::MAX);
        Ok(address)
    }

    fn add(&mut self, name: &str, start: u32, bytes: u32) -> Result<u64, String> {
        if self.list.len() == MOST_ARRAYS {
            return Err(format!("more than {MOST_ARRAYS} arrays of shared or local memory"));
        }
        let base = (self.list.len() as u32) << SLOT_BITS | BASE | (start % ALIGNED);
        self.list.push(Array { name: short(name).to_string(), base, start, bytes });
        Ok(u64::from(base))
    }

    /// Where the `bytes` at an address are in the memory that holds all arrays, if they are in one of them. The last one
    /// ends where that memory does.
    #[inline]
    pub fn find(&self, address: u64, bytes: u32) -> Option<usize> {
        let array = self.list.get((address >> SLOT_BITS) as usize)?;
        let offset = (address as u32).wrapping_sub(array.base);
        let inside = offset.checked_add(bytes)? <= array.bytes;
        inside.then_some(array.start as usize + offset as usize)
    }

    /// What lies at an address, in words, where `held` bytes hold all arrays; and the array's place in them, with the
    /// offset in it.
    pub fn describe(&self, address: u64, held: usize) -> (String, Option<(std::ops::Range<usize>, i64)>) {
        let Some(array) = self.list.get((address >> SLOT_BITS) as usize) else {
            return ("where the kernel has no array".to_string(), None);
        };
        let start = array.start as usize;
        let bytes = (array.bytes as usize).min(held.saturating_sub(start));
        let offset = address as i64 - i64::from(array.base);
        let (name, distance) = (&array.name, offset.unsigned_abs());
        let place = match offset {
            ..0 => format!("{distance} bytes before `{name}` of {bytes} bytes"),
            _ if distance >= bytes as u64 => {
                format!("{} bytes after `{name}` of {bytes} bytes", distance - bytes as u64)
            }
            _ => format!("offset {offset} of `{name}` of {bytes} bytes"),
        };
        (place, Some((start..start + bytes, offset)))
    }
}

/// The name of an array as its source has it, where the compiler put that of its function before it: `_ZZ…E3shr` is `shr`.
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
