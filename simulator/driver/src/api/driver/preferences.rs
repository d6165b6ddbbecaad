//! What a program asks of a context, and can ask for again. It is of no effect on kernels.

use crate::api::put;
use crate::objects::codes::{Code, INVALID_VALUE, UNSUPPORTED_LIMIT};
use crate::objects::process::call;
use std::ffi::{c_int, c_uint};

/// The version of the interface with which a context was made: that of all since CUDA 3.2.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxGetApiVersion(context: usize, version: *mut c_uint) -> Code {
    call("cuCtxGetApiVersion", |driver| {
        let index = if context == 0 { driver.current()? } else { driver.index(context)? };
        driver.context(index)?;
        // SAFETY: the caller's promise.
        unsafe { put(version, 3020) }
    })
}

/// The flags of the current context: none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxGetFlags(flags: *mut c_uint) -> Code {
    call("cuCtxGetFlags", |driver| {
        driver.current_context()?;
        // SAFETY: the caller's promise.
        unsafe { put(flags, 0) }
    })
}

/// Sets the flags of the primary context of a device: how a host waits, which is of no effect.
#[unsafe(no_mangle)]
pub extern "C" fn cuDevicePrimaryCtxSetFlags_v2(device: c_int, _flags: c_uint) -> Code {
    call("cuDevicePrimaryCtxSetFlags_v2", |driver| driver.device(device).map(drop))
}

/// The lowest and the highest priority of streams: there is one. Either pointer may be null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxGetStreamPriorityRange(least: *mut c_int, greatest: *mut c_int) -> Code {
    call("cuCtxGetStreamPriorityRange", |driver| {
        driver.current_context()?;
        for to in [least, greatest].into_iter().filter(|to| !to.is_null()) {
            // SAFETY: the caller's promise.
            unsafe { put(to, 0)? };
        }
        Ok(())
    })
}

/// A limit of the current context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxGetLimit(value: *mut usize, limit: c_uint) -> Code {
    call("cuCtxGetLimit", |driver| {
        let limits = &driver.current_context()?.preferences.limits;
        let set = *limits.get(limit as usize).ok_or(UNSUPPORTED_LIMIT)?;
        // SAFETY: the caller's promise.
        unsafe { put(value, set) }
    })
}

/// Sets a limit of the current context. Kernels take what they need: only what was set is kept.
#[unsafe(no_mangle)]
pub extern "C" fn cuCtxSetLimit(limit: c_uint, value: usize) -> Code {
    call("cuCtxSetLimit", |driver| {
        let limits = &mut driver.current_context()?.preferences.limits;
        *limits.get_mut(limit as usize).ok_or(UNSUPPORTED_LIMIT)? = value;
        Ok(())
    })
}

/// Whether kernels prefer shared memory or a cache.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxGetCacheConfig(preference: *mut c_uint) -> Code {
    call("cuCtxGetCacheConfig", |driver| {
        let found = driver.current_context()?.preferences.cache;
        // SAFETY: the caller's promise.
        unsafe { put(preference, found) }
    })
}

/// Says whether kernels prefer shared memory or a cache.
#[unsafe(no_mangle)]
pub extern "C" fn cuCtxSetCacheConfig(preference: c_uint) -> Code {
    call("cuCtxSetCacheConfig", |driver| {
        driver.current_context()?.preferences.cache =
            if preference <= 3 { preference } else { return Err(INVALID_VALUE) };
        Ok(())
    })
}

/// How wide the banks of shared memory should be.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxGetSharedMemConfig(width: *mut c_uint) -> Code {
    call("cuCtxGetSharedMemConfig", |driver| {
        let found = driver.current_context()?.preferences.banks;
        // SAFETY: the caller's promise.
        unsafe { put(width, found) }
    })
}

/// Says how wide the banks of shared memory should be.
#[unsafe(no_mangle)]
pub extern "C" fn cuCtxSetSharedMemConfig(width: c_uint) -> Code {
    call("cuCtxSetSharedMemConfig", |driver| {
        driver.current_context()?.preferences.banks = if width <= 2 { width } else { return Err(INVALID_VALUE) };
        Ok(())
    })
}

/// Starts a profiler, if one is attached: none is.
#[unsafe(no_mangle)]
pub extern "C" fn cuProfilerStart() -> Code {
    call("cuProfilerStart", |driver| driver.current_context().map(drop))
}

/// Stops it.
#[unsafe(no_mangle)]
pub extern "C" fn cuProfilerStop() -> Code {
    call("cuProfilerStop", |driver| driver.current_context().map(drop))
}
