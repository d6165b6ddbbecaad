//! Pools of memory that is allocated in stream order. They keep nothing back: what is freed is gone.

/// A pool.
pub struct Pool {
    /// The device whose memory it has.
    pub(crate) ordinal: usize,
    /// The most bytes that it may give out at once; 0 for no limit.
    pub(crate) most: u64,
    /// What it may reuse, and what it may keep: attributes 1 to 4, which are of no effect.
    pub(crate) settings: [u64; 4],
    /// Bytes that are allocated of it.
    pub(crate) used: u64,
    /// The most that ever were, since the program last asked to forget that.
    pub(crate) high: u64,
}

impl Pool {
    /// A pool of a device.
    pub(crate) fn new(ordinal: usize, most: u64) -> Self {
        Self { ordinal, most, settings: [1, 1, 1, 0], used: 0, high: 0 }
    }

    /// Whether it has `bytes` bytes left.
    pub(crate) fn has(&self, bytes: u64) -> bool {
        self.most == 0 || self.used.saturating_add(bytes) <= self.most
    }
}
