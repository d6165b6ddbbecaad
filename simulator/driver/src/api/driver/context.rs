//! Contexts.

use crate::api::put;
use crate::objects::codes::{Code, INVALID_CONTEXT, NOT_INITIALIZED};
use crate::objects::context;
use crate::objects::process::call;
use std::ffi::{c_int, c_uint};

/// Retains the primary context of a device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDevicePrimaryCtxRetain(context: *mut usize, device: c_int) -> Code {
    call("cuDevicePrimaryCtxRetain", |driver| {
        let ordinal = driver.device(device)?;
        let handle = driver.retain(ordinal)?;
        // SAFETY: the caller's promise.
        unsafe { put(context, handle) }
    })
}

/// Releases the primary context of a device. The last release destroys everything in it, its error included.
#[unsafe(no_mangle)]
pub extern "C" fn cuDevicePrimaryCtxRelease_v2(device: c_int) -> Code {
    call("cuDevicePrimaryCtxRelease_v2", |driver| {
        let ordinal = driver.device(device)?;
        driver.release(ordinal)
    })
}

/// Whether the primary context of a device is alive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDevicePrimaryCtxGetState(device: c_int, flags: *mut c_uint, active: *mut c_int) -> Code {
    call("cuDevicePrimaryCtxGetState", |driver| {
        let ordinal = driver.device(device)?;
        let alive = driver.retained(ordinal) > 0;
        // SAFETY: the caller's promise.
        unsafe { put(flags, 0).and_then(|()| put(active, alive.into())) }
    })
}

/// The current context, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxGetCurrent(context: *mut usize) -> Code {
    call("cuCtxGetCurrent", |driver| {
        if !driver.initialized {
            return Err(NOT_INITIALIZED);
        }
        // SAFETY: the caller's promise.
        unsafe { put(context, context::current()) }
    })
}

/// Makes a context current; null for no context.
#[unsafe(no_mangle)]
pub extern "C" fn cuCtxSetCurrent(context: usize) -> Code {
    call("cuCtxSetCurrent", |driver| {
        if context != 0 {
            let ordinal = driver.ordinal(context)?;
            driver.context(ordinal)?;
        }
        context::make_current(context);
        Ok(())
    })
}

/// The device of the current context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxGetDevice(device: *mut c_int) -> Code {
    call("cuCtxGetDevice", |driver| {
        let ordinal = driver.current()?;
        // SAFETY: the caller's promise.
        unsafe { put(device, ordinal as c_int) }
    })
}

/// Waits for the current context.
#[unsafe(no_mangle)]
pub extern "C" fn cuCtxSynchronize() -> Code {
    call("cuCtxSynchronize", |driver| {
        let context = driver.current()?;
        driver.happens_before.synchronize(context, None);
        driver.context(context)?.synchronize()
    })
}

/// Destroys a context that is not primary. There are none.
#[unsafe(no_mangle)]
pub extern "C" fn cuCtxDestroy_v2(_context: usize) -> Code {
    INVALID_CONTEXT
}
