//! A test harness names the bytes outside of the view in a buffer that it is about to copy to the device. A
//! kernel must not access them, though the buffer holds them.

use simulator::ByteSet;
use std::sync::{Mutex, PoisonError};

/// The bytes to hide in the next copy to the device of this length.
static NEXT: Mutex<Option<ByteSet>> = Mutex::new(None);

/// Hides those bytes of the next copy to the device of the same length that are not zero in `around`.
pub fn in_next_copy(around: &[u8]) {
    let mut bytes = ByteSet::empty(around.len());
    for (at, &byte) in around.iter().enumerate() {
        bytes.set(at, 1, u8::from(byte != 0));
    }
    *NEXT.lock().unwrap_or_else(PoisonError::into_inner) = Some(bytes);
}

/// The bytes to hide in a copy of `length` bytes, once.
pub fn of_copy(length: usize) -> Option<ByteSet> {
    let mut next = NEXT.lock().unwrap_or_else(PoisonError::into_inner);
    if next.as_ref()?.length() == length { next.take() } else { None }
}
