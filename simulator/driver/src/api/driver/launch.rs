//! Launches of kernels, and their attributes.

use crate::api::put;
use crate::objects::codes::{Code, INVALID_VALUE, NOT_SUPPORTED};
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

/// How a kernel is launched: `CUlaunchConfig`.
#[repr(C)]
#[derive(Debug)]
pub struct Configuration {
    /// Blocks of the grid.
    pub grid: [c_uint; 3],
    /// Threads of a block.
    pub block: [c_uint; 3],
    /// Bytes of dynamic shared memory.
    pub shared: c_uint,
    /// The stream.
    pub stream: usize,
    /// More attributes, and how many they are.
    pub attributes: *const c_void,
    /// See above.
    pub count: c_uint,
}

/// Launches a kernel without attributes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLaunchKernelEx(
    configuration: *const Configuration,
    function: usize,
    values: *const *const c_void,
    extra: *const *const c_void,
) -> Code {
    if configuration.is_null() {
        return INVALID_VALUE;
    }
    // SAFETY: not null, and hence the caller's promise.
    let Configuration { grid: [x, y, z], block: [i, j, k], shared, stream, count, .. } = unsafe { &*configuration };
    if *count > 0 {
        report::unsupported("the attributes of cuLaunchKernelEx");
        return NOT_SUPPORTED;
    }
    // SAFETY: the caller's promise.
    unsafe { cuLaunchKernel(function, *x, *y, *z, *i, *j, *k, *shared, *stream, values, extra) }
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

/// Says whether a kernel prefers shared memory or a cache, which is of no effect.
#[unsafe(no_mangle)]
pub extern "C" fn cuFuncSetCacheConfig(function: usize, preference: c_uint) -> Code {
    call("cuFuncSetCacheConfig", |driver| driver.take_hint(function, preference <= 3))
}

/// Says how wide the banks of shared memory should be for a kernel, which is of no effect.
#[unsafe(no_mangle)]
pub extern "C" fn cuFuncSetSharedMemConfig(function: usize, width: c_uint) -> Code {
    call("cuFuncSetSharedMemConfig", |driver| driver.take_hint(function, width <= 2))
}
