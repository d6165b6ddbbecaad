//! Modules, and the functions and variables in them.

use crate::api::put;
use crate::objects::codes::{Code, FILE_NOT_FOUND, INVALID_HANDLE, INVALID_VALUE, NOT_FOUND};
use crate::objects::modules::image;
use crate::objects::modules::module::Module;
use crate::objects::process::call;
use std::ffi::{CStr, OsStr, c_char, c_uint, c_void};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;

/// Loads a module into the current context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleLoadData(module: *mut usize, image: *const c_void) -> Code {
    call("cuModuleLoadData", |driver| {
        driver.current_context()?;
        // SAFETY: the caller's promises.
        unsafe {
            let ptx = image::ptx(image, driver.config.capability)?;
            put(module, driver.load_in_place_of(ptx)?)
        }
    })
}

/// Loads a module into the current context, with options of the compiler. There is none: what it would print stays as it is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleLoadDataEx(
    module: *mut usize,
    image: *const c_void,
    _count: c_uint,
    _options: *const c_uint,
    _values: *const *const c_void,
) -> Code {
    // SAFETY: the caller's promise.
    unsafe { cuModuleLoadData(module, image) }
}

/// Loads a fat binary into the current context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleLoadFatBinary(module: *mut usize, image: *const c_void) -> Code {
    // SAFETY: the caller's promise.
    unsafe { cuModuleLoadData(module, image) }
}

/// Loads a module from a file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleLoad(module: *mut usize, path: *const c_char) -> Code {
    if path.is_null() {
        return INVALID_VALUE;
    }
    // SAFETY: not null, and hence a path that a NUL ends.
    let path = OsStr::from_bytes(unsafe { CStr::from_ptr(path) }.to_bytes());
    let Ok(mut image) = fs::read(path) else { return FILE_NOT_FOUND };
    image.push(0);
    // SAFETY: the caller's promise, and a text is ended now.
    unsafe { cuModuleLoadData(module, image.as_ptr().cast()) }
}

/// Unloads a module. Does so in a dead context too, and then returns its error.
#[unsafe(no_mangle)]
pub extern "C" fn cuModuleUnload(module: usize) -> Code {
    call("cuModuleUnload", |driver| {
        let module = driver.modules.remove(module).ok_or(INVALID_HANDLE)?;
        for function in module.functions.into_values() {
            driver.functions.remove(function);
        }
        let context = driver.context(module.context)?;
        context.device.unload(module.id);
        context.check()
    })
}

/// The function of a name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleGetFunction(function: *mut usize, module: usize, name: *const c_char) -> Code {
    call("cuModuleGetFunction", |driver| {
        if name.is_null() {
            return Err(INVALID_VALUE);
        }
        // SAFETY: the caller's promises.
        unsafe { put(function, driver.function(module, CStr::from_ptr(name))?) }
    })
}

/// The address and size of a module's variable. Either pointer may be null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleGetGlobal_v2(
    address: *mut u64,
    bytes: *mut usize,
    module: usize,
    name: *const c_char,
) -> Code {
    call("cuModuleGetGlobal_v2", |driver| {
        driver.current_context()?;
        if name.is_null() || (address.is_null() && bytes.is_null()) {
            return Err(INVALID_VALUE);
        }
        let Module { context, id, .. } = driver.modules.get(module).ok_or(INVALID_HANDLE)?;
        let (context, id) = (*context, *id);
        // SAFETY: the caller's promise.
        let name = unsafe { CStr::from_ptr(name) }.to_str().map_err(|_| NOT_FOUND)?;
        let (at, size) = driver.context(context)?.device.global(id, name).ok_or(NOT_FOUND)?;
        if !address.is_null() {
            // SAFETY: the caller's promise.
            unsafe { put(address, at)? };
        }
        if !bytes.is_null() {
            // SAFETY: the caller's promise.
            unsafe { put(bytes, size as usize)? };
        }
        Ok(())
    })
}
