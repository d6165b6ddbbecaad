//! A generator of cuRAND.

use crate::objects::libraries::philox::Philox;

/// A generator of random numbers.
pub struct Generator {
    pub context: usize,
    pub seed: u64,
    pub words: Philox,
    pub stream: usize,
}
