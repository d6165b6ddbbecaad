//! The bits of a buffer that were never written: whole bytes, and the bits of those few bytes that hold a value of which only
//! some bits are known.

use crate::byte_set::ByteSet;
use std::collections::BTreeMap;

/// The undefined bits of a buffer.
#[derive(Debug, Default, Clone)]
pub struct Undefined {
    /// The bytes with an undefined bit.
    bytes: ByteSet,
    /// The undefined bits of those of them that have a defined bit, too.
    partly: BTreeMap<usize, u8>,
}

impl Undefined {
    /// Those of `length` fresh bytes. `defined`: they count as written.
    pub fn new(length: usize, defined: bool) -> Self {
        let bytes = if defined { ByteSet::empty(length) } else { ByteSet::full(length) };
        Self { bytes, partly: BTreeMap::new() }
    }

    /// How many bytes there are.
    pub fn length(&self) -> usize {
        self.bytes.length()
    }

    /// True if every bit is defined.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The undefined bits of up to eight bytes, which are aligned to their number.
    pub fn at(&self, start: usize, bytes: usize) -> u64 {
        let whole = spread(self.bytes.bits_at(start, bytes));
        if self.partly.is_empty() {
            return whole;
        }
        let known = |(at, bits): (&usize, &u8)| u64::from(!bits) << (8 * (at - start));
        whole & !self.partly.range(start..start + bytes).map(known).fold(0, |all, known| all | known)
    }

    /// Sets the undefined bits of up to eight bytes, aligned as in [`Self::at`].
    pub fn set(&mut self, start: usize, bytes: usize, undefined: u64) {
        let of_byte = |byte: usize| (undefined >> (8 * byte)) as u8;
        let members = (0..bytes).fold(0, |all, byte| all | u8::from(of_byte(byte) != 0) << byte);
        self.bytes.set(start, bytes, members);
        for byte in 0..bytes {
            match of_byte(byte) {
                0 | u8::MAX if self.partly.is_empty() => {}
                0 | u8::MAX => drop(self.partly.remove(&(start + byte))),
                bits => drop(self.partly.insert(start + byte, bits)),
            }
        }
    }

    /// Counts a range of any size as written.
    pub fn clear(&mut self, start: usize, bytes: usize) {
        self.bytes.clear(start, bytes);
        self.forget_parts(start, bytes);
    }

    /// True if a bit of the range is undefined.
    pub fn any_in(&self, start: usize, bytes: usize) -> bool {
        self.bytes.any_in(start, bytes)
    }

    /// The first byte of a range that has an undefined bit, and how many have.
    pub fn find_in(&self, start: usize, bytes: usize) -> Option<(usize, usize)> {
        self.bytes.find_in(start, bytes)
    }

    /// Those of a range, counted from its start.
    #[must_use]
    pub fn slice(&self, start: usize, bytes: usize) -> Self {
        let partly = self.partly.range(start..start + bytes).map(|(at, bits)| (at - start, *bits)).collect();
        Self { bytes: self.bytes.slice(start, bytes), partly }
    }

    /// Makes a range the same as `part`.
    pub fn copy_from(&mut self, start: usize, part: &Self) {
        self.bytes.copy_from(start, &part.bytes);
        self.forget_parts(start, part.length());
        self.partly.extend(part.partly.iter().map(|(at, bits)| (start + at, *bits)));
    }

    fn forget_parts(&mut self, start: usize, bytes: usize) {
        if !self.partly.is_empty() {
            self.partly.retain(|&at, _| at < start || at >= start + bytes);
        }
    }
}

/// The bits of the bytes that `bytes` has a bit for.
fn spread(bytes: u8) -> u64 {
    (0..8).filter(|byte| bytes >> byte & 1 != 0).fold(0, |all, byte| all | 0xff << (8 * byte))
}
