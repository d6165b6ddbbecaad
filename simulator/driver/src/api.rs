//! The exported C functions, by library. Each keeps the contract of the CUDA function of its name.

pub mod cublas;
pub mod cublaslt;
pub mod cudnn;
pub mod curand;
pub mod driver;
pub mod nvrtc;
pub mod runtime;
pub mod snuffer;

use crate::objects::codes::{Code, INVALID_VALUE};

/// Writes a result to the caller's pointer.
///
/// # Safety
/// `to` is null or valid for a write.
pub(crate) unsafe fn put<T>(to: *mut T, value: T) -> Result<(), Code> {
    if to.is_null() {
        return Err(INVALID_VALUE);
    }
    // SAFETY: not null, and hence valid, as the caller promises.
    unsafe { to.write(value) };
    Ok(())
}

/// What a pointer and a number say is there. Nothing, if the number is 0.
///
/// # Safety
/// `first` is null or valid for reads of `count` values, which do not change while the result is used.
pub(crate) unsafe fn all<'a, T>(first: *const T, count: usize) -> Result<&'a [T], Code> {
    match (first.is_null(), count) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(INVALID_VALUE),
        // SAFETY: not null, and hence valid, as the caller promises.
        (false, _) => Ok(unsafe { std::slice::from_raw_parts(first, count) }),
    }
}
