//! The names and texts of error codes.

use crate::objects::codes::{Code, INVALID_VALUE, SUCCESS};
use crate::objects::error_names::find;
use std::ffi::{CStr, c_char};
use std::ptr;

/// The text of an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetErrorString(error: Code, text: *mut *const c_char) -> Code {
    // SAFETY: the caller passes a place for the pointer, or null.
    unsafe { answer(text, find(error).map(|row| row.2)) }
}

/// The name of an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetErrorName(error: Code, name: *mut *const c_char) -> Code {
    // SAFETY: the caller passes a place for the pointer, or null.
    unsafe { answer(name, find(error).map(|row| row.1)) }
}

unsafe fn answer(to: *mut *const c_char, found: Option<&'static CStr>) -> Code {
    // SAFETY: `to` is null or valid for a write, as the callers say.
    match unsafe { to.as_mut() } {
        None => INVALID_VALUE,
        Some(to) => {
            *to = found.map_or(ptr::null(), CStr::as_ptr);
            if found.is_some() { SUCCESS } else { INVALID_VALUE }
        }
    }
}
