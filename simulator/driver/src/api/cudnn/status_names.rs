//! The names of cuDNN's statuses.

use crate::objects::codes::Code;
use crate::objects::error_names::UNKNOWN;
use std::ffi::{CStr, c_char};

const STATUSES: &[(Code, &CStr)] = &[
    (0, c"CUDNN_STATUS_SUCCESS"),
    (1001, c"CUDNN_STATUS_NOT_INITIALIZED"),
    (2000, c"CUDNN_STATUS_BAD_PARAM"),
    (3000, c"CUDNN_STATUS_NOT_SUPPORTED"),
    (4000, c"CUDNN_STATUS_INTERNAL_ERROR"),
    (5000, c"CUDNN_STATUS_EXECUTION_FAILED"),
];

/// The name of a status.
#[unsafe(no_mangle)]
pub extern "C" fn cudnnGetErrorString(status: Code) -> *const c_char {
    STATUSES.iter().find(|row| row.0 == status).map_or(UNKNOWN, |row| row.1).as_ptr()
}
