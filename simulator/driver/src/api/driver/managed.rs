//! Managed memory, which the host and the device access at one address.

use crate::api::put;
use crate::objects::codes::{Code, INVALID_VALUE};
use crate::objects::driver::Driver;
use crate::objects::process::call;
use std::ffi::{c_int, c_uint};

/// Where memory should be: `CUmemLocation`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Location {
    /// 1 for a device.
    pub kind: c_uint,
    /// The device's ordinal.
    pub id: c_int,
}

/// A location on a device.
const DEVICE: c_uint = 1;

/// Allocates memory that the host accesses too; 0 bytes are an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAllocManaged(address: *mut u64, bytes: usize, flags: c_uint) -> Code {
    call("cuMemAllocManaged", |driver| {
        // For every stream, or for the host until it is attached to one.
        if bytes == 0 || !matches!(flags, 1 | 2) {
            return Err(INVALID_VALUE);
        }
        driver.check_unsafe()?;
        let allocated = driver.allocate_managed(bytes)?;
        // SAFETY: the caller's promise.
        unsafe { put(address, allocated) }
    })
}

/// Attaches managed memory to a stream, to the host or to all streams. Which of them may access it is not checked.
#[unsafe(no_mangle)]
pub extern "C" fn cuStreamAttachMemAsync(stream: usize, address: u64, _bytes: usize, flags: c_uint) -> Code {
    call("cuStreamAttachMemAsync", |driver| {
        driver.context_of(stream)?;
        if matches!(flags, 1 | 2 | 4) { check_range(driver, address, 0) } else { Err(INVALID_VALUE) }
    })
}

/// Moves managed memory before it is needed. There is nothing to move.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemPrefetchAsync_v2(
    address: u64,
    bytes: usize,
    location: Location,
    _flags: c_uint,
    stream: usize,
) -> Code {
    call("cuMemPrefetchAsync_v2", |driver| {
        driver.context_of(stream)?;
        check_location(driver, location)?;
        check_range(driver, address, bytes)
    })
}

/// Says how managed memory will be used, which is of no effect.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemAdvise_v2(address: u64, bytes: usize, advice: c_uint, location: Location) -> Code {
    call("cuMemAdvise_v2", |driver| {
        check_location(driver, location)?;
        if matches!(advice, 1..=6) { check_range(driver, address, bytes) } else { Err(INVALID_VALUE) }
    })
}

fn check_location(driver: &Driver, location: Location) -> Result<(), Code> {
    if location.kind == DEVICE { driver.device(location.id).map(drop) } else { Ok(()) }
}

/// Whether these bytes are of one allocation.
fn check_range(driver: &mut Driver, address: u64, bytes: usize) -> Result<(), Code> {
    let context = driver.current()?;
    let found = driver.device_of(address, context)?.bytes(address, bytes as u64).map(drop);
    found.map_err(|_| INVALID_VALUE)
}
