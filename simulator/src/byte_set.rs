//! A set of the bytes of a buffer, such as those that were never written: a bit for each byte, allocated only if some bytes
//! are in the set and some are not.

/// A set of bytes among `length`.
#[derive(Debug, Default)]
pub struct ByteSet {
    length: usize,
    count: usize,
    /// A bit for each byte; empty while all bytes are in the set, or none is.
    words: Vec<u64>,
}

impl ByteSet {
    /// The set of all of `length` bytes.
    pub fn full(length: usize) -> Self {
        Self { length, count: length, words: Vec::new() }
    }

    /// The empty set of `length` bytes.
    pub fn empty(length: usize) -> Self {
        Self { length, ..Self::default() }
    }

    /// How many bytes there are, in the set or not.
    pub fn length(&self) -> usize {
        self.length
    }

    /// Whether no byte is in the set.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Which of up to eight bytes are in the set, a bit for each. They are aligned to their number.
    pub fn bits_at(&self, start: usize, bytes: usize) -> u8 {
        let mask = ones(bytes) as u8;
        match self.words.get(start / 64) {
            Some(word) => (word >> (start % 64)) as u8 & mask,
            None if self.count > 0 => mask,
            None => 0,
        }
    }

    /// Puts the bytes into the set that `members` has a bit for, and takes the others out; aligned as in [`Self::bits_at`].
    pub fn set(&mut self, start: usize, bytes: usize, members: u8) {
        if self.count == 0 && members == 0 {
            return;
        }
        self.make_words();
        let (word, shift) = (&mut self.words[start / 64], start % 64);
        let new = *word & !(ones(bytes) << shift) | (u64::from(members) & ones(bytes)) << shift;
        self.count = self.count + new.count_ones() as usize - word.count_ones() as usize;
        *word = new;
        self.drop_words_if_empty();
    }

    /// Takes a range of any size out of the set.
    pub fn clear(&mut self, start: usize, bytes: usize) {
        if bytes == self.length {
            *self = Self::empty(self.length);
        }
        self.each_word(start, bytes, |word, mask| *word &= !mask);
    }

    /// The subset in a range, counted from its start.
    #[must_use]
    pub fn slice(&self, start: usize, bytes: usize) -> Self {
        let mut part = Self::empty(bytes);
        if self.count > 0 {
            (0..bytes).for_each(|at| part.set(at, 1, self.bits_at(start + at, 1)));
        }
        part
    }

    /// Makes a range the same as `part`.
    pub fn copy_from(&mut self, start: usize, part: &Self) {
        self.clear(start, part.length);
        if part.count > 0 {
            (0..part.length).for_each(|at| self.set(start + at, 1, part.bits_at(at, 1)));
        }
    }

    /// The first byte of a range that is in the set, and how many are.
    pub fn find_in(&self, start: usize, bytes: usize) -> Option<(usize, usize)> {
        if self.count == 0 {
            return None;
        }
        let mut members = (start..start + bytes).filter(|&at| self.bits_at(at, 1) != 0);
        members.next().map(|first| (first, 1 + members.count()))
    }

    fn each_word(&mut self, start: usize, bytes: usize, change: impl Fn(&mut u64, u64)) {
        if self.count == 0 || bytes == 0 {
            return;
        }
        self.make_words();
        let end = start + bytes;
        for number in start / 64..end.div_ceil(64) {
            let (first, last) = (start.max(number * 64) % 64, end.min(number * 64 + 64) - number * 64);
            let word = &mut self.words[number];
            let before = word.count_ones() as usize;
            change(word, ones(last) & !ones(first));
            self.count = self.count + word.count_ones() as usize - before;
        }
        self.drop_words_if_empty();
    }

    /// Allocates the words, if all bytes were alike.
    fn make_words(&mut self) {
        if self.words.is_empty() {
            let fill = if self.count > 0 { u64::MAX } else { 0 };
            self.words = vec![fill; self.length.div_ceil(64)];
            if let Some(last) = self.words.last_mut().filter(|_| !self.length.is_multiple_of(64)) {
                *last &= ones(self.length % 64);
            }
        }
    }

    fn drop_words_if_empty(&mut self) {
        if self.count == 0 {
            self.words = Vec::new();
        }
    }
}

/// A word with this many low bits set.
fn ones(bits: usize) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}
