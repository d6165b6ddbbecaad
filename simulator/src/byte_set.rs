//! A set of the bytes of a buffer, such as those that were never written: a bit for each byte, allocated only if some bytes
//! are in the set and some are not.

/// A set of bytes among `length`.
#[derive(Debug, Default, Clone)]
pub struct ByteSet {
    length: usize,
    count: usize,
    /// A word of bytes that are as all were at first: no bit, or every bit.
    usual: u64,
    /// A bit for each byte that is not as usual; empty while none is. Zeros, of which the system makes pages when one of them is
    /// written: those of a huge buffer cost what is touched.
    words: Vec<u64>,
}

impl ByteSet {
    /// The set of all of `length` bytes.
    pub fn full(length: usize) -> Self {
        Self { length, count: length, usual: u64::MAX, words: Vec::new() }
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
        (self.word(start / 64) >> (start % 64)) as u8 & ones(bytes) as u8
    }

    /// Puts the bytes into the set that `members` has a bit for, and takes the others out; aligned as in [`Self::bits_at`].
    pub fn set(&mut self, start: usize, bytes: usize, members: u8) {
        if self.count == 0 && members == 0 {
            return;
        }
        self.change(start / 64, ones(bytes) << (start % 64), u64::from(members) << (start % 64));
        self.drop_words_if_empty();
    }

    /// Takes a range of any size out of the set.
    pub fn clear(&mut self, start: usize, bytes: usize) {
        if bytes == self.length {
            *self = Self::empty(self.length);
        }
        if self.count > 0 {
            each_word(start, bytes, |number, mask| self.change(number, mask, 0));
            self.drop_words_if_empty();
        }
    }

    /// The subset in a range, counted from its start.
    #[must_use]
    pub fn slice(&self, start: usize, bytes: usize) -> Self {
        if self.words.is_empty() {
            return if self.count == 0 { Self::empty(bytes) } else { Self::full(bytes) };
        }
        let mut part = if self.usual == 0 { Self::empty(bytes) } else { Self::full(bytes) };
        each_word(0, bytes, |number, mask| part.change(number, mask, self.bits(start + number * 64)));
        part.drop_words_if_empty();
        part
    }

    /// Makes a range the same as `part`.
    pub fn copy_from(&mut self, start: usize, part: &Self) {
        if part.count == 0 {
            return self.clear(start, part.length);
        }
        if part.length == self.length && part.words.is_empty() {
            *self = Self::full(self.length);
            return;
        }
        // The bits of a word of this set begin in one of the part's words, or before its first.
        let bits = |number: usize| match (number * 64).checked_sub(start) {
            Some(at) => part.bits(at),
            None => part.bits(0) << (start - number * 64),
        };
        each_word(start, part.length, |number, mask| self.change(number, mask, bits(number)));
        self.drop_words_if_empty();
    }

    /// The first byte of a range that is in the set, and how many are.
    pub fn find_in(&self, start: usize, bytes: usize) -> Option<(usize, usize)> {
        if self.count == 0 {
            return None;
        }
        let mut members = (start..start + bytes).filter(|&at| self.bits_at(at, 1) != 0);
        members.next().map(|first| (first, 1 + members.count()))
    }

    /// True if a byte of the range is in the set.
    pub fn any_in(&self, start: usize, bytes: usize) -> bool {
        let mut any = false;
        each_word(start, bytes, |number, mask| any |= self.word(number) & mask != 0);
        any
    }

    /// The members in a word.
    fn word(&self, number: usize) -> u64 {
        self.words.get(number).map_or(self.usual, |word| word ^ self.usual)
    }

    /// The members among the 64 bytes from here on.
    fn bits(&self, start: usize) -> u64 {
        let (number, shift) = (start / 64, start % 64);
        let low = self.word(number) >> shift;
        if shift == 0 { low } else { low | self.word(number + 1) << (64 - shift) }
    }

    /// Makes the bytes of a word that are in `mask` members as `members` says.
    fn change(&mut self, number: usize, mask: u64, members: u64) {
        let before = self.word(number);
        let now = before & !mask | members & mask;
        if now != before {
            if self.words.is_empty() {
                self.words = vec![0; self.length.div_ceil(64)];
            }
            self.words[number] = now ^ self.usual;
            self.count = self.count + (now & mask).count_ones() as usize - (before & mask).count_ones() as usize;
        }
    }

    fn drop_words_if_empty(&mut self) {
        if self.count == 0 {
            (self.words, self.usual) = (Vec::new(), 0);
        }
    }
}

/// Visits the words of a range: the number of each, and a bit for each of its bytes that is in the range.
fn each_word(start: usize, bytes: usize, mut visit: impl FnMut(usize, u64)) {
    let end = start + bytes;
    for number in start / 64..end.div_ceil(64) {
        let (first, last) = (start.max(number * 64) % 64, end.min(number * 64 + 64) - number * 64);
        visit(number, ones(last) & !ones(first));
    }
}

/// A word with this many low bits set.
fn ones(bits: usize) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}
