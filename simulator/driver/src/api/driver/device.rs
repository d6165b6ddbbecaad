//! The driver itself, and its devices.

use crate::api::put;
use crate::objects::codes::{Code, INVALID_VALUE, NOT_FOUND, NOT_INITIALIZED};
use crate::objects::process::call;
use crate::objects::settings::visible;
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::ptr;

/// Starts the driver.
#[unsafe(no_mangle)]
pub extern "C" fn cuInit(flags: c_uint) -> Code {
    call("cuInit", |driver| if flags == 0 { driver.initialize() } else { Err(INVALID_VALUE) })
}

/// The version of CUDA that the driver knows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDriverGetVersion(version: *mut c_int) -> Code {
    // SAFETY: the caller's promise.
    call("cuDriverGetVersion", |_| unsafe { put(version, 13000) })
}

/// A private table of the driver's functions: there is none. NVIDIA's libraries ask for some, and go on without.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetExportTable(table: *mut *const c_void, _id: *const c_void) -> Code {
    // SAFETY: the caller's promise.
    call("cuGetExportTable", |_| unsafe { put(table, ptr::null()).and(Err(NOT_FOUND)) })
}

/// The number of devices.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetCount(count: *mut c_int) -> Code {
    call("cuDeviceGetCount", |driver| {
        let devices = if driver.initialized { driver.config.devices } else { return Err(NOT_INITIALIZED) };
        // SAFETY: the caller's promise.
        unsafe { put(count, devices as c_int) }
    })
}

/// The device of an ordinal.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGet(device: *mut c_int, ordinal: c_int) -> Code {
    call("cuDeviceGet", |driver| {
        driver.device(ordinal)?;
        // SAFETY: the caller's promise.
        unsafe { put(device, ordinal) }
    })
}

/// A property of a device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetAttribute(value: *mut c_int, attribute: c_uint, device: c_int) -> Code {
    call("cuDeviceGetAttribute", |driver| {
        driver.device(device)?;
        // SAFETY: the caller's promise.
        unsafe { put(value, driver.attribute(attribute)?) }
    })
}

/// The name of a device, cut to the caller's buffer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetName(name: *mut c_char, len: c_int, device: c_int) -> Code {
    call("cuDeviceGetName", |driver| {
        driver.device(device)?;
        let (major, minor) = driver.config.capability;
        // SAFETY: the caller's promise.
        unsafe { put_text(name, len, &format!("snuffer simulated device sm_{major}{minor}")) }
    })
}

/// The identity of a device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetUuid_v2(uuid: *mut [u8; 16], device: c_int) -> Code {
    call("cuDeviceGetUuid_v2", |driver| {
        let id = visible::uuid(driver.visible[driver.device(device)?]);
        // SAFETY: the caller's promise.
        unsafe { put(uuid, id) }
    })
}

/// The place of a device on the bus: as if all were on the first, one after the other.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetPCIBusId(id: *mut c_char, len: c_int, device: c_int) -> Code {
    call("cuDeviceGetPCIBusId", |driver| {
        let ordinal = driver.device(device)?;
        // SAFETY: the caller's promise.
        unsafe { put_text(id, len, &format!("0000:{:02X}:00.0", driver.visible[ordinal] + 1)) }
    })
}

/// Whether kernels on a device may access the memory of another: they may not.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceCanAccessPeer(can: *mut c_int, device: c_int, peer: c_int) -> Code {
    call("cuDeviceCanAccessPeer", |driver| {
        driver.device(device)?;
        driver.device(peer)?;
        // SAFETY: the caller's promise.
        unsafe { put(can, 0) }
    })
}

/// Writes a text that a NUL ends, cut to the caller's buffer.
///
/// # Safety
/// `to` is null or valid for a write of `len` bytes.
unsafe fn put_text(to: *mut c_char, len: c_int, text: &str) -> Result<(), Code> {
    let room = usize::try_from(len).ok().and_then(|len| len.checked_sub(1)).ok_or(INVALID_VALUE)?;
    for (at, byte) in text.bytes().take(room).chain([0]).enumerate() {
        // SAFETY: `at` is below `len`, the size of the caller's buffer.
        unsafe { put(to.wrapping_add(at), byte as c_char)? };
    }
    Ok(())
}

/// The memory of a device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceTotalMem_v2(bytes: *mut usize, device: c_int) -> Code {
    call("cuDeviceTotalMem_v2", |driver| {
        driver.device(device)?;
        // SAFETY: the caller's promise.
        unsafe { put(bytes, (driver.config.memory + driver.held) as usize) }
    })
}
