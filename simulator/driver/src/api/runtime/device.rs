//! The runtime's devices.

use super::{runtime, select};
use crate::api::put;
use crate::objects::codes::Code;
use std::ffi::{c_int, c_uint};

/// The thread's device: that of the current context, or the first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGetDevice(device: *mut c_int) -> Code {
    runtime("cudaGetDevice", |driver| {
        driver.initialize()?;
        // SAFETY: the caller's promise.
        unsafe { put(device, driver.current_device().unwrap_or(0) as c_int) }
    })
}

/// Chooses the thread's device.
#[unsafe(no_mangle)]
pub extern "C" fn cudaSetDevice(device: c_int) -> Code {
    runtime("cudaSetDevice", |driver| select(driver, device))
}

/// The number of devices.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGetDeviceCount(count: *mut c_int) -> Code {
    runtime("cudaGetDeviceCount", |driver| {
        driver.initialize()?;
        // SAFETY: the caller's promise.
        unsafe { put(count, driver.config.devices as c_int) }
    })
}

/// A property of a device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaDeviceGetAttribute(value: *mut c_int, attribute: c_uint, device: c_int) -> Code {
    runtime("cudaDeviceGetAttribute", |driver| {
        driver.initialize()?;
        driver.device(device)?;
        // SAFETY: the caller's promise.
        unsafe { put(value, driver.attribute(attribute)?) }
    })
}
