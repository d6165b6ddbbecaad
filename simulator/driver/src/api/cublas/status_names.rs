//! The names of cuBLAS's statuses.

use crate::objects::codes::Code;
use crate::objects::error_names::UNKNOWN;
use std::ffi::{CStr, c_char};

const BLAS: &[(Code, &CStr)] = &[
    (0, c"CUBLAS_STATUS_SUCCESS"),
    (1, c"CUBLAS_STATUS_NOT_INITIALIZED"),
    (3, c"CUBLAS_STATUS_ALLOC_FAILED"),
    (7, c"CUBLAS_STATUS_INVALID_VALUE"),
    (8, c"CUBLAS_STATUS_ARCH_MISMATCH"),
    (11, c"CUBLAS_STATUS_MAPPING_ERROR"),
    (13, c"CUBLAS_STATUS_EXECUTION_FAILED"),
    (14, c"CUBLAS_STATUS_INTERNAL_ERROR"),
    (15, c"CUBLAS_STATUS_NOT_SUPPORTED"),
    (16, c"CUBLAS_STATUS_LICENSE_ERROR"),
];

/// The name of a status of cuBLAS.
#[unsafe(no_mangle)]
pub extern "C" fn cublasGetStatusName(status: Code) -> *const c_char {
    BLAS.iter().find(|row| row.0 == status).map_or(UNKNOWN, |row| row.1).as_ptr()
}

/// The text of a status of cuBLAS: its name says it.
#[unsafe(no_mangle)]
pub extern "C" fn cublasGetStatusString(status: Code) -> *const c_char {
    cublasGetStatusName(status)
}

/// The name of a status of cuBLASLt, which shares its statuses with cuBLAS.
#[unsafe(no_mangle)]
pub extern "C" fn cublasLtGetStatusName(status: Code) -> *const c_char {
    cublasGetStatusName(status)
}

/// The text of a status of cuBLASLt.
#[unsafe(no_mangle)]
pub extern "C" fn cublasLtGetStatusString(status: Code) -> *const c_char {
    cublasGetStatusName(status)
}
