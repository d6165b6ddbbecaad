//! Modules, and the functions and variables in them.

use crate::codes::{
    Code, FILE_NOT_FOUND, INVALID_HANDLE, INVALID_PTX, INVALID_VALUE, NO_BINARY_FOR_GPU, NOT_FOUND,
    UNSUPPORTED_PTX_VERSION,
};
use crate::launch::Function;
use crate::state::{Driver, call, put};
use crate::{context, image, report};
use simulator::{LoadError, ModuleId};
use std::collections::HashMap;
use std::ffi::{CStr, CString, OsStr, c_char, c_void};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;

/// A loaded module.
pub struct Module {
    pub(crate) context: usize,
    id: ModuleId,
    /// Handles of the functions that were asked for: candle asks before every launch.
    functions: HashMap<CString, usize>,
}

impl Driver {
    pub(crate) fn load(&mut self, ptx: &str) -> Result<usize, Code> {
        let loaded = self.here()?.device.load(ptx);
        let id = loaded.map_err(|error| {
            let (code, why) = match error {
                LoadError::Syntax(why) => (INVALID_PTX, why),
                LoadError::TooNewArchitecture(why) => (NO_BINARY_FOR_GPU, why),
                LoadError::TooNewVersion(why) => (UNSUPPORTED_PTX_VERSION, why),
            };
            report::say(&format!("snuffer-sim: a module cannot be loaded: {why}"));
            code
        })?;
        let context = self.current()?;
        Ok(self.modules.insert(Module { context, id, functions: HashMap::new() }))
    }

    pub(crate) fn function(&mut self, module: usize, name: &CStr) -> Result<usize, Code> {
        let Module { context, id, functions } = self.modules.get(module).ok_or(INVALID_HANDLE)?;
        if let Some(&known) = functions.get(name) {
            return Ok(known);
        }
        let (context, id) = (*context, *id);
        let device = &mut self.context(context)?.device;
        let found = name.to_str().ok().and_then(|name| device.function(id, name)).ok_or(NOT_FOUND)?;
        let dynamic_shared = context::SHARED.saturating_sub(device.entry(found).static_shared);
        let handle = self.functions.insert(Function { context, id: found, dynamic_shared });
        self.modules.get_mut(module).ok_or(INVALID_HANDLE)?.functions.insert(name.to_owned(), handle);
        Ok(handle)
    }
}

/// Loads a module into the current context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleLoadData(module: *mut usize, image: *const c_void) -> Code {
    call(|driver| {
        driver.here()?;
        // SAFETY: the caller's promises.
        unsafe {
            let ptx = image::ptx(image, driver.config.capability)?;
            put(module, driver.load(&ptx)?)
        }
    })
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

/// Unloads a module, and does so in a dead context too, whose error it then returns.
#[unsafe(no_mangle)]
pub extern "C" fn cuModuleUnload(module: usize) -> Code {
    call(|driver| {
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
    call(|driver| {
        if name.is_null() {
            return Err(INVALID_VALUE);
        }
        // SAFETY: the caller's promises.
        unsafe { put(function, driver.function(module, CStr::from_ptr(name))?) }
    })
}

/// The address and size of a module's variable; either may be left out.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleGetGlobal_v2(
    address: *mut u64,
    bytes: *mut usize,
    module: usize,
    name: *const c_char,
) -> Code {
    call(|driver| {
        driver.here()?;
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
