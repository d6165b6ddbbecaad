//! Functions for a test harness in the same process; not part of CUDA.

use crate::objects::memory::exact_views;
use crate::objects::reports::counters;
use std::slice;

/// Counts what kernels execute in `bytes[..length]` from now on; see `counters.rs`.
///
/// # Safety
/// The bytes stay valid for writes to the end of the process, and are not used elsewhere during a call of this library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn snuffer_sim_count_in(bytes: *mut u8, length: usize) {
    // SAFETY: the caller's promise.
    counters::count_in(unsafe { slice::from_raw_parts_mut(bytes, length) });
}

/// Hides those bytes of the next copy to the device of `length` bytes that are not zero in `around`.
///
/// # Safety
/// `around` is valid for a read of `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn snuffer_sim_hide_in_next_copy(around: *const u8, length: usize) {
    // SAFETY: the caller's promise.
    exact_views::in_next_copy(unsafe { slice::from_raw_parts(around, length) });
}
