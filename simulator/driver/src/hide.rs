//! Views to the byte: a test harness says which bytes of the buffer that it is about to copy to the device are around the
//! view which it makes of it. A kernel has no business there, though the buffer holds them.

use simulator::Marks;
use std::slice;
use std::sync::{Mutex, PoisonError};

/// What is hidden of the next copy to the device that has this length.
static NEXT: Mutex<Option<Marks>> = Mutex::new(None);

/// Hides those bytes of the next copy to the device of `length` bytes that are not zero in `around`.
///
/// # Safety
/// `around` is valid for a read of `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn snuffer_sim_hide_in_next_copy(around: *const u8, length: usize) {
    // SAFETY: the caller's promise.
    let around = unsafe { slice::from_raw_parts(around, length) };
    let mut marks = Marks::none(length);
    for (at, &byte) in around.iter().enumerate() {
        marks.set(at, 1, u8::from(byte != 0));
    }
    *NEXT.lock().unwrap_or_else(PoisonError::into_inner) = Some(marks);
}

/// What is hidden of a copy of `length` bytes, once.
pub fn of_copy(length: usize) -> Option<Marks> {
    let mut next = NEXT.lock().unwrap_or_else(PoisonError::into_inner);
    if next.as_ref()?.length() == length { next.take() } else { None }
}
