//! An access of many lanes at once, to values at equal distances.

/// Values that lanes of a warp access, at the same distance from one lane to the next. They are aligned and in the buffer.
#[derive(Debug, Clone, Copy, Default)]
pub struct Row {
    /// Where the first lane's begins in the buffer.
    pub start: usize,
    /// The bytes of each lane's.
    pub bytes: usize,
    /// The bytes from one lane's to the next's: so many that they lie side by side, or a few times as many, or 0 if lanes read one value.
    pub step: usize,
    /// The lanes: side by side, too, unless they read one value.
    pub mask: u32,
}

impl Row {
    /// How many lanes there are.
    pub fn lanes(&self) -> usize {
        self.mask.count_ones() as usize
    }

    /// The first of them.
    pub fn first_lane(&self) -> usize {
        self.mask.trailing_zeros() as usize
    }

    /// From the first byte to the last.
    pub fn length(&self) -> usize {
        self.step * (self.lanes() - 1) + self.bytes
    }

    /// Whether a byte is in both.
    pub fn meets(&self, other: &Self) -> bool {
        self.start < other.start + other.length() && other.start < self.start + self.length()
    }
}
