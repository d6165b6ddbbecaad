//! The bytes of a buffer: its own, or memory of the host that the program has registered.

use std::ops::{Deref, DerefMut};

/// The bytes of a buffer.
#[derive(Debug)]
pub enum Bytes {
    Own(Vec<u8>),
    OfHost(&'static mut [u8]),
}

impl Default for Bytes {
    fn default() -> Self {
        Self::Own(Vec::new())
    }
}

impl Bytes {
    /// Makes them so many bytes of this value.
    #[inline]
    pub fn reset(&mut self, length: usize, fill: u8) {
        match self {
            Self::Own(bytes) => {
                bytes.clear();
                bytes.resize(length, fill);
            }
            Self::OfHost(_) => *self = Self::Own(vec![fill; length]),
        }
    }
}

impl Deref for Bytes {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match self {
            Self::Own(bytes) => bytes,
            Self::OfHost(bytes) => bytes,
        }
    }
}

impl DerefMut for Bytes {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        match self {
            Self::Own(bytes) => bytes,
            Self::OfHost(bytes) => bytes,
        }
    }
}
