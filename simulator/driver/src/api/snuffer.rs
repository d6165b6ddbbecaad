//! Functions for a test harness in the same process; not part of CUDA.

use crate::objects::memory::hidden;
use crate::objects::process;
use crate::objects::reports::counters;
use simulator::Effort;
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
    hidden::in_next_copy(unsafe { slice::from_raw_parts(around, length) });
}

/// Takes what the devices have done since the last call: the bytes that were copied, the most memory in use beyond that of the start, the
/// warp instructions, and those of the longest warp of a launch that keeps few warps busy, or 0. The name of its kernel is written to
/// `kernel[..length]`, as far as it fits, with a zero after it.
///
/// # Safety
/// `numbers` is valid for a write of four numbers, and `kernel` for one of `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn snuffer_sim_take_effort(numbers: *mut [u64; 4], kernel: *mut u8, length: usize) {
    let Effort { copied, peak, instructions, serial } = process::take_effort();
    let (name, longest) = serial.map_or((String::new(), 0), |serial| (serial.kernel, serial.longest));
    // SAFETY: the caller's promise.
    let place = unsafe {
        numbers.write([copied, peak, instructions, longest]);
        slice::from_raw_parts_mut(kernel, length)
    };
    let room = length.saturating_sub(1);
    place.iter_mut().zip(name.bytes().take(room).chain([0])).for_each(|(place, byte)| *place = byte);
}
