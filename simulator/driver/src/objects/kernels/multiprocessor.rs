//! What a multiprocessor has, by its number in `CUdevice_attribute`.

use std::ffi::c_uint;

/// How many multiprocessors a device has.
pub const COUNT: c_uint = 16;
/// Threads.
pub const THREADS: c_uint = 39;
/// Bytes of shared memory.
pub const SHARED: c_uint = 81;
/// Blocks.
pub const BLOCKS: c_uint = 106;

/// The shared memory that the driver takes for each block.
pub const SHARED_OF_DRIVER: usize = 1024;
/// The threads of a warp.
pub const WARP: usize = 32;
