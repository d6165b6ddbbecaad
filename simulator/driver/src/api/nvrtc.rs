//! NVRTC: only the text of its results.

use crate::objects::codes::Code;
use std::ffi::c_char;

/// The name of a result of NVRTC. This library returns only one.
#[unsafe(no_mangle)]
pub extern "C" fn nvrtcGetErrorString(result: Code) -> *const c_char {
    match result {
        0 => c"NVRTC_SUCCESS",
        11 => c"NVRTC_ERROR_INTERNAL_ERROR",
        _ => c"NVRTC_ERROR unknown",
    }
    .as_ptr()
}
