//! The size and the parameters of a launch, and the coordinates of its threads and blocks.

use crate::lanes::WARP;

/// The size and the parameters of a launch.
#[derive(Debug, Clone)]
pub struct Launch {
    /// Blocks by axis.
    pub grid: [u32; 3],
    /// Threads of a block by axis.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared: u32,
    /// The parameters, laid out as the kernel declares them.
    pub params: Vec<u8>,
}

impl Launch {
    /// How many blocks the grid has.
    pub fn blocks(&self) -> u64 {
        self.grid.iter().map(|&size| u64::from(size)).product()
    }

    /// How many threads a block has.
    pub fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    /// How many warps a block has.
    pub fn warps(&self) -> usize {
        (self.threads() as usize).div_ceil(WARP)
    }

    /// The coordinates of the block of this number.
    pub fn block_at(&self, number: u64) -> [u32; 3] {
        let [width, height, _] = self.grid.map(u64::from);
        [number % width, number / width % height, number / (width * height)].map(|at| at as u32)
    }
}

/// The coordinates of a thread, or of a block in its grid.
pub fn coordinates(thread: u32, [width, height, depth]: [u32; 3]) -> [u32; 3] {
    // Almost all blocks have one dimension, and a division for each thread is measurable.
    if height * depth == 1 {
        return [thread, 0, 0];
    }
    [thread % width, thread / width % height, thread / (width * height)]
}
