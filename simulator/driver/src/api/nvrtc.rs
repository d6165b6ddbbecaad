//! NVRTC: only the text of its results. Every other function belongs to NVIDIA's library, if the program has loaded that.

use crate::objects::codes::Code;
use std::ffi::{CStr, c_char, c_void};
use std::mem;
use std::ptr;

/// A function of NVRTC as the linker sees it: none has more arguments, and all fit registers.
pub type Function = extern "C" fn(usize, usize, usize, usize, usize, usize) -> usize;

unsafe extern "C" {
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// For `dlsym`: the libraries that were loaded after this one. On Linux it is `(void *) -1`.
const NEXT: usize = usize::MAX;

/// NVIDIA's function of this name.
///
/// This library has the names of all of CUDA's libraries. In a program that links the driver first, they hide those of the NVRTC
/// that it links after it.
pub fn of_nvidia(name: &CStr) -> Option<Function> {
    // SAFETY: a name that a NUL ends.
    let found = unsafe { dlsym(ptr::without_provenance_mut(NEXT), name.as_ptr()) };
    // SAFETY: a function of this name is NVRTC's, which reads as many arguments as it has.
    (!found.is_null()).then(|| unsafe { mem::transmute::<*mut c_void, Function>(found) })
}

/// The name of a result of NVRTC. This library returns only one.
#[unsafe(no_mangle)]
pub extern "C" fn nvrtcGetErrorString(result: Code) -> *const c_char {
    if let Some(function) = of_nvidia(c"nvrtcGetErrorString") {
        return ptr::with_exposed_provenance(function(result as usize, 0, 0, 0, 0, 0));
    }
    match result {
        0 => c"NVRTC_SUCCESS",
        11 => c"NVRTC_ERROR_INTERNAL_ERROR",
        _ => c"NVRTC_ERROR unknown",
    }
    .as_ptr()
}
