//! A kernel with all that a launch of it needs: its size and its parameters.

use crate::objects::codes::{Code, INVALID_VALUE};
use simulator::{Entry, FunctionId, Launch};
use std::ffi::c_void;
use std::{ptr, slice};

/// The most blocks of a grid and threads of a block, by dimension, and the most threads of a block.
const GRID: [u32; 3] = [i32::MAX as u32, 65535, 65535];
const BLOCK: [u32; 3] = [1024, 1024, 64];
pub(super) const THREADS: u32 = 1024;

/// The size of a launch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared: u32,
    /// Whether blocks may wait for each other. Then all of them must fit on the device at once.
    pub is_cooperative: bool,
}

/// A kernel with all that a launch of it needs.
pub struct KernelNode {
    pub(crate) function: usize,
    pub(crate) context: usize,
    pub(crate) size: Size,
    /// The addresses of its parameters, in `launch`.
    pub(crate) values: Vec<usize>,
    pub(super) id: FunctionId,
    pub(super) launch: Launch,
}

/// Whether a device accepts a launch of this size.
pub(crate) fn fits(grid: [u32; 3], block: [u32; 3]) -> bool {
    let within = |size: [u32; 3], most: [u32; 3]| size.iter().zip(most).all(|(&n, most)| (1..=most).contains(&n));
    within(grid, GRID) && within(block, BLOCK) && block.iter().product::<u32>() <= THREADS
}

/// The bytes of a kernel's parameters, laid out for it.
///
/// # Safety
/// `values` is null or holds, for each parameter, null or the address of as many bytes as the parameter has.
pub(super) unsafe fn parameters(entry: &Entry, values: *const *const c_void) -> Result<Vec<u8>, Code> {
    let mut bytes = vec![0; entry.param_bytes as usize];
    if values.is_null() {
        return if entry.params.is_empty() { Ok(bytes) } else { Err(INVALID_VALUE) };
    }
    // SAFETY: the caller's promise.
    let values = unsafe { slice::from_raw_parts(values, entry.params.len()) };
    for (value, &(offset, size)) in values.iter().zip(&entry.params) {
        if value.is_null() {
            return Err(INVALID_VALUE);
        }
        let to = &mut bytes[offset as usize..][..size as usize];
        // SAFETY: the caller's promise.
        unsafe { ptr::copy_nonoverlapping(value.cast(), to.as_mut_ptr(), to.len()) };
    }
    Ok(bytes)
}
