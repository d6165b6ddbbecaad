//! The attributes of kernels that are linked into the program.

use super::{ensure, runtime};
use crate::api::put;
use crate::objects::codes::{Code, INVALID_VALUE};
use crate::objects::driver::Driver;
use crate::objects::modules::linked_kernels::linked;
use std::ffi::{c_int, c_uint};

/// A host function's kernel in the current context, for its attributes.
fn attributed(driver: &mut Driver, function: usize) -> Result<usize, Code> {
    let kernel = linked(function)?;
    ensure(driver)?;
    driver.loaded(&kernel)
}

/// A `cudaFuncAttributes`.
#[repr(C)]
pub struct Attributes {
    /// Bytes of shared memory that the kernel declares.
    pub shared: usize,
    constant: usize,
    local: usize,
    /// The most threads of a block.
    pub threads: c_int,
    registers: c_int,
    ptx_version: c_int,
    binary_version: c_int,
    cache_mode: c_int,
    /// Bytes of shared memory that a launch may ask for.
    pub dynamic_shared: c_int,
    /// The carve-out, the attributes of clusters, and what is reserved.
    rest: [c_int; 23],
}

/// The attributes of a kernel.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaFuncGetAttributes(attributes: *mut Attributes, function: usize) -> Code {
    runtime("cudaFuncGetAttributes", |driver| {
        let function = attributed(driver, function)?;
        let mut get = |attribute| driver.function_attribute(function, attribute).map(|value| value as c_int);
        let known = Attributes {
            shared: get(1)? as usize,
            constant: get(2)? as usize,
            local: get(3)? as usize,
            threads: get(0)?,
            registers: get(4)?,
            ptx_version: get(5)?,
            binary_version: get(6)?,
            cache_mode: get(7)?,
            dynamic_shared: get(8)?,
            rest: [0; 23],
        };
        // SAFETY: the caller's promise.
        unsafe { put(attributes, known) }
    })
}

/// Sets an attribute of a kernel: its dynamic shared memory. Other attributes are hints.
#[unsafe(no_mangle)]
pub extern "C" fn cudaFuncSetAttribute(function: usize, attribute: c_uint, value: c_int) -> Code {
    runtime("cudaFuncSetAttribute", |driver| {
        let function = attributed(driver, function)?;
        driver.set_function_attribute(function, attribute, value)
    })
}

/// How many blocks a multiprocessor holds at once, by warps and shared memory. Registers are unknown.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    blocks: *mut c_int,
    function: usize,
    threads: c_int,
    shared: usize,
    _flags: c_uint,
) -> Code {
    runtime("cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", |driver| {
        let function = attributed(driver, function)?;
        let threads = u32::try_from(threads).ok().filter(|&threads| threads > 0).ok_or(INVALID_VALUE)?;
        // Threads and blocks of a multiprocessor, its shared memory, and what the system reserves of it for each block.
        let [most_threads, most_blocks, memory, kept] = [39, 106, 81, 111].map(|number| driver.attribute(number));
        let bytes = driver.function_attribute(function, 1)? as usize + shared + kept? as usize;
        let by_memory = memory? as usize / bytes;
        let by_threads = most_threads? / threads.next_multiple_of(32) as c_int;
        let fits = threads <= driver.function_attribute(function, 0)?;
        let most = if fits { by_threads.min(most_blocks?).min(by_memory as c_int) } else { 0 };
        // SAFETY: the caller's promise.
        unsafe { put(blocks, most) }
    })
}
