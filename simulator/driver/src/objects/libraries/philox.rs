//! Philox4x32-10, a generator whose numbers are a function of their position: Salmon et al., "Parallel random numbers:
//! as easy as 1, 2, 3", 2011.

/// A sequence of random words.
pub struct Philox {
    seed: u64,
    position: u64,
    /// The four words around the position.
    block: [u32; 4],
}

impl Philox {
    /// The sequence of a seed, from its beginning.
    pub fn new(seed: u64) -> Self {
        Self { seed, position: 0, block: [0; 4] }
    }

    /// Goes to a position.
    pub fn seek(&mut self, position: u64) {
        self.position = position;
        self.block = block(position / 4, self.seed);
    }

    /// The next word.
    pub fn next(&mut self) -> u32 {
        let at = (self.position % 4) as usize;
        if at == 0 {
            self.block = block(self.position / 4, self.seed);
        }
        self.position = self.position.wrapping_add(1);
        self.block[at]
    }
}

fn block(counter: u64, key: u64) -> [u32; 4] {
    let halves = |x: u64| (x as u32, (x >> 32) as u32);
    let ((a, b), (mut low, mut high)) = (halves(counter), halves(key));
    let mut words = [a, b, 0, 0];
    for _ in 0..10 {
        let (first, first_high) = halves(0xD251_1F53 * u64::from(words[0]));
        let (second, second_high) = halves(0xCD9E_8D57 * u64::from(words[2]));
        words = [second_high ^ words[1] ^ low, second, first_high ^ words[3] ^ high, first];
        low = low.wrapping_add(0x9E37_79B9);
        high = high.wrapping_add(0xBB67_AE85);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::{Philox, block};

    #[test]
    fn the_published_vectors_agree() {
        assert_eq!(block(0, 0), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
    }

    #[test]
    fn a_position_can_be_gone_to() {
        let mut straight = Philox::new(3);
        let words: Vec<u32> = (0..12).map(|_| straight.next()).collect();
        for (position, &word) in words.iter().enumerate() {
            let mut jumped = Philox::new(3);
            jumped.seek(position as u64);
            assert_eq!(jumped.next(), word);
        }
    }
}
