//! Launches of kernels, and their attributes.

use crate::api::{all, put};
use crate::objects::codes::{Code, INVALID_VALUE, NOT_SUPPORTED};
use crate::objects::kernels::kernel_node::Size;
use crate::objects::process::call;
use crate::objects::reports::report;
use std::ffi::{c_int, c_uint, c_void};

/// Launches a kernel. It has ended when the call returns, unless a function of the host comes before it in its stream.
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
        let size = Size { grid, block, shared, is_cooperative: false };
        // SAFETY: the caller's promise.
        unsafe { driver.launch(function, size, stream, values) }
    })
}

/// Launches a kernel whose blocks may wait for each other.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLaunchCooperativeKernel(
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
) -> Code {
    call("cuLaunchCooperativeKernel", |driver| {
        let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
        let size = Size { grid, block, shared, is_cooperative: true };
        // SAFETY: the caller's promise.
        unsafe { driver.launch(function, size, stream, values) }
    })
}

/// An attribute of a launch: `CUlaunchAttribute`.
#[repr(C, align(8))]
#[derive(Debug, Clone, Copy)]
pub struct Attribute {
    /// Its number in `CUlaunchAttributeID`.
    pub id: c_uint,
    /// A number, or what else it is.
    pub value: [u64; 8],
}

impl Attribute {
    const IGNORED: c_uint = 0;
    const COOPERATIVE: c_uint = 2;
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
    pub attributes: *const Attribute,
    /// See above.
    pub count: c_uint,
}

/// Launches a kernel with attributes, of which the one is known that makes it cooperative.
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
    let &Configuration { grid, block, shared, stream, attributes, count } = unsafe { &*configuration };
    call("cuLaunchKernelEx", |driver| {
        if !extra.is_null() {
            report::unsupported("the argument `extra` of cuLaunchKernelEx");
            return Err(NOT_SUPPORTED);
        }
        let mut size = Size { grid, block, shared, is_cooperative: false };
        // SAFETY: the caller's promise.
        for attribute in unsafe { all(attributes, count as usize)? } {
            match attribute.id {
                Attribute::IGNORED => {}
                Attribute::COOPERATIVE => size.is_cooperative = attribute.value[0] as c_int != 0,
                id => {
                    report::unsupported(format!("attribute {id} of cuLaunchKernelEx"));
                    return Err(NOT_SUPPORTED);
                }
            }
        }
        // SAFETY: the caller's promise.
        unsafe { driver.launch(function, size, stream, values) }
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
