//! Contexts.

use crate::api::put;
use crate::objects::codes::{Code, INVALID_CONTEXT, NOT_INITIALIZED, NOT_SUPPORTED};
use crate::objects::contexts::context;
use crate::objects::process::call;
use crate::objects::reports::report;
use std::ffi::{c_int, c_uint, c_void};

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
            let index = driver.index(context)?;
            driver.context(index)?;
        }
        context::make_current(context);
        Ok(())
    })
}

/// The device of the current context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxGetDevice(device: *mut c_int) -> Code {
    call("cuCtxGetDevice", |driver| {
        let ordinal = driver.current_device()?;
        // SAFETY: the caller's promise.
        unsafe { put(device, ordinal as c_int) }
    })
}

/// Waits for the current context.
#[unsafe(no_mangle)]
pub extern "C" fn cuCtxSynchronize() -> Code {
    call("cuCtxSynchronize", |driver| {
        let context = driver.current()?;
        driver.wait_for_context(context)
    })
}

/// Makes a context that is not primary, and makes it current. Its flags say how a host waits, which is of no effect here.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxCreate_v2(context: *mut usize, _flags: c_uint, device: c_int) -> Code {
    call("cuCtxCreate_v2", |driver| {
        let ordinal = driver.device(device)?;
        let handle = driver.create_context(ordinal)?;
        // SAFETY: the caller's promise.
        unsafe { put(context, handle) }
    })
}

/// Makes a context that is not primary, without a limit on its multiprocessors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxCreate_v3(
    context: *mut usize,
    limits: *const c_void,
    count: c_int,
    flags: c_uint,
    device: c_int,
) -> Code {
    if !limits.is_null() || count != 0 {
        report::unsupported("a limit on the multiprocessors of a context");
        return NOT_SUPPORTED;
    }
    // SAFETY: the caller's promise.
    unsafe { cuCtxCreate_v2(context, flags, device) }
}

/// Makes a context that is not primary, without parameters.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxCreate_v4(
    context: *mut usize,
    params: *const c_void,
    flags: c_uint,
    device: c_int,
) -> Code {
    if !params.is_null() {
        report::unsupported("the parameters of cuCtxCreate_v4");
        return NOT_SUPPORTED;
    }
    // SAFETY: the caller's promise.
    unsafe { cuCtxCreate_v2(context, flags, device) }
}

/// Destroys a context that is not primary.
#[unsafe(no_mangle)]
pub extern "C" fn cuCtxDestroy_v2(context: usize) -> Code {
    call("cuCtxDestroy_v2", |driver| driver.destroy_context(context))
}

/// Makes a context current, until it is popped.
#[unsafe(no_mangle)]
pub extern "C" fn cuCtxPushCurrent_v2(context: usize) -> Code {
    call("cuCtxPushCurrent_v2", |driver| {
        let index = driver.index(context)?;
        driver.context(index)?;
        context::push(context);
        Ok(())
    })
}

/// Makes the context before the last push current. The pointer to the one that was current may be null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxPopCurrent_v2(popped: *mut usize) -> Code {
    call("cuCtxPopCurrent_v2", |_| {
        let handle = context::pop().ok_or(INVALID_CONTEXT)?;
        // SAFETY: the caller's promise.
        if popped.is_null() { Ok(()) } else { unsafe { put(popped, handle) } }
    })
}
