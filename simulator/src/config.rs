//! What the simulated device pretends to be.

use crate::mutate::Mutation;

/// The properties of every simulated device of the process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// How many devices there are, 0 to 8.
    pub devices: usize,
    /// Global memory of each, in bytes.
    pub memory: u64,
    /// Compute capability: major and minor.
    pub capability: (u32, u32),
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
    /// Warp instructions that one launch may execute before it counts as hanging.
    pub budget: u64,
    /// Applies one mutation, chosen by this seed, to the kernels that are loaded.
    pub mutate: Option<Mutation>,
}

impl Default for Config {
    fn default() -> Self {
        Self { devices: 1, memory: 2 << 30, capability: (9, 0), multiprocessors: 2, budget: 200_000_000, mutate: None }
    }
}
