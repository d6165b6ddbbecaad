//! Registers the kernels that are linked into the program.

use crate::objects::modules::linked_kernels::{add_binary, add_kernel, remove_binary};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;

/// Registers a fat binary; its kernels are registered one by one.
#[unsafe(no_mangle)]
pub extern "C" fn __cudaRegisterFatBinary(fat_binary: *mut c_void) -> *mut *mut c_void {
    // Callers only hand it back.
    ptr::without_provenance_mut(add_binary(fat_binary.expose_provenance()))
}

/// All kernels of a fat binary are registered.
#[unsafe(no_mangle)]
pub extern "C" fn __cudaRegisterFatBinaryEnd(_handle: *mut *mut c_void) {}

/// Forgets a fat binary, when the program ends or unloads a library.
#[unsafe(no_mangle)]
pub extern "C" fn __cudaUnregisterFatBinary(handle: *mut *mut c_void) {
    remove_binary(handle.addr());
}

/// Registers a kernel.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaRegisterFunction(
    handle: *mut *mut c_void,
    function: usize,
    _device_function: *mut c_char,
    name: *const c_char,
    _thread_limit: c_int,
    _thread: *mut c_void,
    _block: *mut c_void,
    _block_size: *mut c_void,
    _grid_size: *mut c_void,
    _warp_size: *mut c_int,
) {
    // SAFETY: compilers pass the kernel's mangled name.
    let name = unsafe { CStr::from_ptr(name) };
    add_kernel(handle.addr(), function, name.to_owned());
}

/// Does nothing: kernels find device variables in the PTX, and no simulated function uses this address.
#[unsafe(no_mangle)]
pub extern "C" fn __cudaRegisterVar(
    _handle: *mut *mut c_void,
    _variable: *mut c_char,
    _address: *mut c_char,
    _name: *const c_char,
    _external: c_int,
    _bytes: usize,
    _constant: c_int,
    _global: c_int,
) {
}
