//! Pinned memory of the host, which kernels access at the same address.

use std::ffi::{c_uint, c_void};

use crate::api::put;
use crate::objects::codes::{Code, INVALID_VALUE, OUT_OF_MEMORY};
use crate::objects::process::call;
use crate::objects::state::Driver;

/// `CU_MEMHOSTALLOC_PORTABLE`, `_DEVICEMAP` and `_WRITECOMBINED`.
const FLAGS: c_uint = 7;

/// Allocates pinned memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemHostAlloc(pointer: *mut *mut c_void, bytes: usize, flags: c_uint) -> Code {
    call("cuMemHostAlloc", |driver| {
        let allocated = driver.pin(bytes, flags)?;
        // SAFETY: the caller's promise.
        unsafe { put(pointer.cast(), allocated) }
    })
}

/// Allocates pinned memory without flags.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAllocHost_v2(pointer: *mut *mut c_void, bytes: usize) -> Code {
    call("cuMemAllocHost_v2", |driver| {
        let allocated = driver.pin(bytes, 0)?;
        // SAFETY: the caller's promise.
        unsafe { put(pointer.cast(), allocated) }
    })
}

/// Frees pinned memory.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemFreeHost(pointer: *mut c_void) -> Code {
    call("cuMemFreeHost", |driver| {
        let address = pointer.addr() as u64;
        driver.pinned.remove(&address).ok_or(INVALID_VALUE)?;
        driver.free(address, 0)
    })
}

/// The device's address of pinned memory: the host's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemHostGetDevicePointer_v2(address: *mut u64, pointer: *mut c_void, flags: c_uint) -> Code {
    call("cuMemHostGetDevicePointer_v2", |driver| {
        driver.current_context()?;
        let host = pointer.addr() as u64;
        driver.pinned_at(host).filter(|_| flags == 0).ok_or(INVALID_VALUE)?;
        // SAFETY: the caller's promise.
        unsafe { put(address, host) }
    })
}

/// The flags that pinned memory was allocated with. With unified addressing all of it is mapped.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemHostGetFlags(flags: *mut c_uint, pointer: *mut c_void) -> Code {
    call("cuMemHostGetFlags", |driver| {
        driver.current_context()?;
        let (_, given) = driver.pinned_at(pointer.addr() as u64).ok_or(INVALID_VALUE)?;
        // SAFETY: the caller's promise.
        unsafe { put(flags, given | 2) }
    })
}

impl Driver {
    fn pin(&mut self, bytes: usize, flags: c_uint) -> Result<u64, Code> {
        if bytes == 0 || flags > FLAGS {
            return Err(INVALID_VALUE);
        }
        let pinned = self.current_context()?.device.allocate_host(bytes as u64).ok_or(OUT_OF_MEMORY)?;
        self.pinned.insert(pinned, (bytes as u64, flags));
        Ok(pinned)
    }

    /// The bytes and flags of the pinned memory that has this address.
    pub(crate) fn pinned_at(&self, address: u64) -> Option<(u64, c_uint)> {
        let (start, found) = self.pinned.range(..=address).next_back()?;
        (address - start < found.0).then_some(*found)
    }
}
