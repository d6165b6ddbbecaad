//! Launches of kernels, and their attributes.

use crate::api::put;
use crate::objects::codes::{Code, NOT_SUPPORTED};
use crate::objects::process::call;
use crate::objects::report;
use std::ffi::{c_int, c_uint, c_void};

/// Launches a kernel, which has ended when the call returns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLaunchKernel(
    function: usize,
    grid_x: c_uint,
    grid_y: c_uint,
    grid_z: c_uint,
    block_x: c_uint,
    block_y: c_uint,
    block_z: c_uint,
    shared: c_uint,
    stream: usize,
    values: *const *const c_void,
    extra: *const *const c_void,
) -> Code {
    call("cuLaunchKernel", |driver| {
        if !extra.is_null() {
            report::unsupported("the argument `extra` of cuLaunchKernel");
            return Err(NOT_SUPPORTED);
        }
        let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
        // SAFETY: the caller's promise.
        unsafe { driver.launch(function, grid, block, shared, stream, values) }
    })
}

/// An attribute of a kernel.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuFuncGetAttribute(value: *mut c_int, attribute: c_uint, function: usize) -> Code {
    call("cuFuncGetAttribute", |driver| {
        let found = driver.function_attribute(function, attribute)?;
        // SAFETY: the caller's promise.
        unsafe { put(value, found as c_int) }
    })
}

/// Sets an attribute of a kernel: its dynamic shared memory. Other attributes are hints.
#[unsafe(no_mangle)]
pub extern "C" fn cuFuncSetAttribute(function: usize, attribute: c_uint, value: c_int) -> Code {
    call("cuFuncSetAttribute", |driver| driver.set_function_attribute(function, attribute, value))
}
