//! The runtime's names and texts of error codes.

use crate::objects::codes::Code;
use crate::objects::error_names::{UNKNOWN, find};
use std::ffi::{CStr, c_char};

/// The runtime's names of the codes that it returns here.
const RUNTIME: &[(Code, &CStr)] = &[
    (0, c"cudaSuccess"),
    (1, c"cudaErrorInvalidValue"),
    (2, c"cudaErrorMemoryAllocation"),
    (3, c"cudaErrorInitializationError"),
    (9, c"cudaErrorInvalidConfiguration"),
    (52, c"cudaErrorMissingConfiguration"),
    (98, c"cudaErrorInvalidDeviceFunction"),
    (100, c"cudaErrorNoDevice"),
    (101, c"cudaErrorInvalidDevice"),
    (201, c"cudaErrorDeviceUninitialized"),
    (400, c"cudaErrorInvalidResourceHandle"),
    (700, c"cudaErrorIllegalAddress"),
    (702, c"cudaErrorLaunchTimeout"),
    (709, c"cudaErrorContextIsDestroyed"),
    (710, c"cudaErrorAssert"),
    (716, c"cudaErrorMisalignedAddress"),
    (719, c"cudaErrorLaunchFailure"),
    (801, c"cudaErrorNotSupported"),
    (802, c"cudaErrorSystemNotReady"),
];

/// The runtime's name of an error.
#[unsafe(no_mangle)]
pub extern "C" fn cudaGetErrorName(error: Code) -> *const c_char {
    RUNTIME.iter().find(|row| row.0 == error).map_or(UNKNOWN, |row| row.1).as_ptr()
}

/// The runtime's text of an error.
#[unsafe(no_mangle)]
pub extern "C" fn cudaGetErrorString(error: Code) -> *const c_char {
    let own = match error {
        9 => c"invalid configuration argument",
        52 => c"missing launch configuration",
        98 => c"invalid device function",
        _ => UNKNOWN,
    };
    find(error).map_or(own, |row| row.2).as_ptr()
}
