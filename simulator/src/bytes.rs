//! The bytes of a buffer: its own, memory of the host that the program has registered, pages of the system, or pretended memory.

use std::ops::{Deref, DerefMut};

use memmap2::{MmapMut, MmapOptions};

/// The bytes of a buffer.
#[derive(Debug)]
pub enum Bytes {
    Own(Vec<u8>),
    OfHost(&'static mut [u8]),
    /// Whole pages of the system, so that access to them can be taken away.
    Pages(MmapMut),
    /// Zeros, until they are written. Only pages that were written take memory.
    Pretended(MmapMut),
}

/// The bytes that are compared before they are written to pretended memory: those of a page of the system.
const PAGE: usize = 4096;

impl Default for Bytes {
    fn default() -> Self {
        Self::Own(Vec::new())
    }
}

impl Bytes {
    /// So many zeros in pages of their own; `None` if the process has no memory for them.
    pub fn pages(length: usize) -> Option<Self> {
        MmapOptions::new().len(length).map_anon().ok().map(Self::Pages)
    }

    /// So many pretended bytes; `None` if the process has no addresses for them.
    pub fn pretended(length: usize) -> Option<Self> {
        MmapOptions::new().len(length).no_reserve_swap().map_anon().ok().map(Self::Pretended)
    }

    /// Adds zeros up to `length` bytes, unless they are not their own.
    pub fn grow(&mut self, length: usize) {
        match self {
            // Nothing is written until somebody writes.
            Self::Own(bytes) if bytes.is_empty() => *bytes = vec![0; length],
            Self::Own(bytes) => bytes.resize(length, 0),
            Self::OfHost(_) | Self::Pages(_) | Self::Pretended(_) => {}
        }
    }

    /// Makes them `length` bytes of this value.
    #[inline]
    pub fn reset(&mut self, length: usize, fill: u8) {
        match self {
            Self::Own(bytes) => {
                bytes.clear();
                bytes.resize(length, fill);
            }
            Self::OfHost(_) | Self::Pages(_) | Self::Pretended(_) => *self = Self::Own(vec![fill; length]),
        }
    }

    /// Fills a range with copies of a value. Pages of pretended memory that hold them already are not written.
    pub fn fill(&mut self, start: usize, length: usize, value: &[u8]) {
        let is_pretended = matches!(self, Self::Pretended(_));
        if is_pretended
            && length == self.len()
            && value.iter().all(|&byte| byte == 0)
            && let Some(zeros) = Self::pretended(length)
        {
            *self = zeros;
            return;
        }
        let page = value.repeat((PAGE.min(length) / value.len()).max(1));
        for there in self[start..start + length].chunks_mut(page.len()) {
            let copies = &page[..there.len()];
            if !is_pretended || there != copies {
                there.copy_from_slice(copies);
            }
        }
    }

    /// Writes a range. Pages of pretended memory that do not change are not written.
    pub fn write(&mut self, start: usize, from: &[u8]) {
        let is_pretended = matches!(self, Self::Pretended(_));
        let pages = self[start..start + from.len()].chunks_mut(PAGE).zip(from.chunks(PAGE));
        for (there, page) in pages.filter(|(there, page)| !is_pretended || there != page) {
            there.copy_from_slice(page);
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
            Self::Pages(bytes) | Self::Pretended(bytes) => bytes,
        }
    }
}

impl DerefMut for Bytes {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        match self {
            Self::Own(bytes) => bytes,
            Self::OfHost(bytes) => bytes,
            Self::Pages(bytes) | Self::Pretended(bytes) => bytes,
        }
    }
}
