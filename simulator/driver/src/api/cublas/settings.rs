//! cuBLAS: what a program asks of a handle. Products are those of the highest precision whatever it is.

use super::{INVALID_VALUE, NOT_INITIALIZED};
use crate::api::put;
use crate::objects::codes::Code;
use crate::objects::process::call;
use std::ffi::{c_int, c_void};

/// The modes: default, with tensor cores, pedantic, and with TF32; and a flag against sums of reduced precision.
const MODES: std::ops::RangeInclusive<u32> = 0..=3;
const NO_REDUCED_SUMS: u32 = 16;

/// How exact products should be.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cublasGetMathMode(handle: usize, mode: *mut u32) -> Code {
    call("cublasGetMathMode", |driver| {
        let found = driver.blas.get(handle).ok_or(NOT_INITIALIZED)?.math_mode;
        // SAFETY: the caller's promise.
        unsafe { put(mode, found) }.map_err(|_| INVALID_VALUE)
    })
}

/// Sets it.
#[unsafe(no_mangle)]
pub extern "C" fn cublasSetMathMode(handle: usize, mode: u32) -> Code {
    call("cublasSetMathMode", |driver| {
        let blas = driver.blas.get_mut(handle).ok_or(NOT_INITIALIZED)?;
        blas.math_mode = if MODES.contains(&(mode & !NO_REDUCED_SUMS)) { mode } else { return Err(INVALID_VALUE) };
        Ok(())
    })
}

/// Gives cuBLAS memory of the program's. It needs none.
#[unsafe(no_mangle)]
pub extern "C" fn cublasSetWorkspace_v2(handle: usize, _memory: *mut c_void, _bytes: usize) -> Code {
    call("cublasSetWorkspace_v2", |driver| driver.blas.get(handle).map(drop).ok_or(NOT_INITIALIZED))
}

/// Whether results may differ from call to call: they do not.
#[unsafe(no_mangle)]
pub extern "C" fn cublasSetAtomicsMode(handle: usize, mode: c_int) -> Code {
    call("cublasSetAtomicsMode", |driver| {
        driver.blas.get(handle).ok_or(NOT_INITIALIZED)?;
        if matches!(mode, 0 | 1) { Ok(()) } else { Err(INVALID_VALUE) }
    })
}
