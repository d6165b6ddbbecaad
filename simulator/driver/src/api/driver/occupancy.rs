//! How many blocks of a kernel a multiprocessor holds at once: by threads and shared memory alone, since PTX does not say how many
//! registers a kernel needs.

use crate::api::put;
use crate::objects::codes::{Code, INVALID_VALUE};
use crate::objects::kernels::multiprocessor::{self, SHARED_OF_DRIVER, WARP};
use crate::objects::process::call;
use std::ffi::{c_int, c_uint};

/// The number of blocks of a kernel that a multiprocessor holds.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
    blocks: *mut c_int,
    function: usize,
    threads: c_int,
    shared: usize,
) -> Code {
    call("cuOccupancyMaxActiveBlocksPerMultiprocessor", |driver| {
        let found = driver.blocks_at_once(function, threads, shared)?;
        // SAFETY: the caller's promise.
        unsafe { put(blocks, found as c_int) }
    })
}

/// The same. The flag is about a cache.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    blocks: *mut c_int,
    function: usize,
    threads: c_int,
    shared: usize,
    flags: c_uint,
) -> Code {
    if flags > 1 {
        return INVALID_VALUE;
    }
    // SAFETY: the caller's promise.
    unsafe { cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, shared) }
}

/// A function of the program: how much dynamic shared memory a block needs, by its number of threads.
type SharedOfBlock = unsafe extern "C" fn(c_int) -> usize;

/// The size of a block with which a multiprocessor holds most threads, and the size of a grid that fills the device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuOccupancyMaxPotentialBlockSize(
    grid: *mut c_int,
    block: *mut c_int,
    function: usize,
    shared_of: Option<SharedOfBlock>,
    shared: usize,
    limit: c_int,
) -> Code {
    call("cuOccupancyMaxPotentialBlockSize", |driver| {
        let most = driver.function_attribute(function, 0)? as c_int;
        let most = if limit > 0 { most.min(limit) } else { most };
        let mut best = (0, 0, 0);
        // Larger blocks first: of equals, the largest is returned.
        for threads in (1..=most).rev().filter(|threads| *threads == most || threads % WARP as c_int == 0) {
            // SAFETY: the caller's promise.
            let needs = shared_of.map_or(shared, |of| unsafe { of(threads) });
            let blocks = driver.blocks_at_once(function, threads, needs)?;
            let held = blocks * threads as usize;
            if held > best.0 {
                best = (held, threads, blocks);
            }
        }
        let of_device = driver.attribute(multiprocessor::COUNT)? * best.2 as c_int;
        // SAFETY: the caller's promise.
        unsafe { put(block, best.1).and_then(|()| put(grid, of_device)) }
    })
}

/// The dynamic shared memory that each of `blocks` blocks on a multiprocessor can have.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuOccupancyAvailableDynamicSMemPerBlock(
    shared: *mut usize,
    function: usize,
    blocks: c_int,
    threads: c_int,
) -> Code {
    call("cuOccupancyAvailableDynamicSMemPerBlock", |driver| {
        let at_most = driver.blocks_at_once(function, threads, 0)?;
        let blocks =
            usize::try_from(blocks).ok().filter(|blocks| (1..=at_most).contains(blocks)).ok_or(INVALID_VALUE)?;
        let of_kernel = driver.function_attribute(function, 1)? as usize;
        let each = driver.attribute(multiprocessor::SHARED)? as usize / blocks;
        let left = each.saturating_sub(SHARED_OF_DRIVER + of_kernel).min(driver.most_shared() as usize - of_kernel);
        // SAFETY: the caller's promise.
        unsafe { put(shared, left) }
    })
}
