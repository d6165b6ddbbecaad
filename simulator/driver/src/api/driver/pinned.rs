//! Pinned memory of the host, allocated or registered, which kernels access at the same address.

use std::ffi::{c_uint, c_void};
use std::slice;

use rustix::system::sysinfo;

use crate::api::put;
use crate::objects::codes::{
    Code, HOST_MEMORY_ALREADY_REGISTERED, HOST_MEMORY_NOT_REGISTERED, INVALID_VALUE, NOT_SUPPORTED, OUT_OF_MEMORY,
};
use crate::objects::driver::Driver;
use crate::objects::memory::pinned::Pinned;
use crate::objects::process::call;
use crate::objects::reports::report;

/// `CU_MEMHOSTALLOC_PORTABLE`, `_DEVICEMAP` and `_WRITECOMBINED`.
const FLAGS: c_uint = 7;
const PORTABLE: c_uint = 1;
const MAPPED: c_uint = 2;
/// With `CU_MEMHOSTREGISTER_IOMEMORY` and `_READ_ONLY`.
const REGISTRATION_FLAGS: c_uint = 15;

/// Allocates pinned memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemHostAlloc(pointer: *mut *mut c_void, bytes: usize, flags: c_uint) -> Code {
    call("cuMemHostAlloc", |driver| {
        let allocated = pin(driver, bytes, flags)?;
        // SAFETY: the caller's promise.
        unsafe { put(pointer.cast(), allocated) }
    })
}

/// Allocates pinned memory without flags.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAllocHost_v2(pointer: *mut *mut c_void, bytes: usize) -> Code {
    call("cuMemAllocHost_v2", |driver| {
        let allocated = pin(driver, bytes, 0)?;
        // SAFETY: the caller's promise.
        unsafe { put(pointer.cast(), allocated) }
    })
}

/// Frees pinned memory.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemFreeHost(pointer: *mut c_void) -> Code {
    call("cuMemFreeHost", |driver| {
        let address = pointer.addr() as u64;
        let pinned = driver.pinned.get(&address).filter(|pinned| !pinned.is_registered).ok_or(INVALID_VALUE)?;
        driver.await_context(pinned.context)?;
        driver.unpin(address);
        driver.free(address, 0)
    })
}

/// Registers memory of the host, so that it is pinned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemHostRegister_v2(pointer: *mut c_void, bytes: usize, flags: c_uint) -> Code {
    call("cuMemHostRegister_v2", |driver| {
        let context = driver.current()?;
        driver.checked(context)?;
        let start = pointer.addr() as u64;
        let fits = isize::try_from(bytes).is_ok() && start.checked_add(bytes as u64).is_some();
        if pointer.is_null() || bytes == 0 || !fits || flags > REGISTRATION_FLAGS {
            return Err(INVALID_VALUE);
        }
        if flags & !(PORTABLE | MAPPED) != 0 {
            report::unsupported("registration of memory that is another device's, or that is only read");
            return Err(NOT_SUPPORTED);
        }
        let before = driver.pinned.range(..start + bytes as u64).next_back();
        if before.is_some_and(|(at, pinned)| at + pinned.bytes > start) {
            return Err(HOST_MEMORY_ALREADY_REGISTERED);
        }
        // SAFETY: the caller's promise, until it is no longer registered. That the program accesses it meanwhile is its purpose.
        let memory = unsafe { slice::from_raw_parts_mut(pointer.cast(), bytes) };
        driver.context(context)?.device.register(memory).ok_or(OUT_OF_MEMORY)?;
        driver.forget_elsewhere(context, start, bytes as u64);
        driver.pinned.insert(start, Pinned { context, bytes: bytes as u64, flags, is_registered: true });
        Ok(())
    })
}

/// Ends a registration.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemHostUnregister(pointer: *mut c_void) -> Code {
    call("cuMemHostUnregister", |driver| {
        driver.current_context()?;
        let address = pointer.addr() as u64;
        let registered = driver.pinned.get(&address).filter(|pinned| pinned.is_registered);
        let context = registered.ok_or(HOST_MEMORY_NOT_REGISTERED)?.context;
        driver.await_context(context)?;
        driver.unpin(address);
        driver.withdraw(address, context)
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
        let pinned = driver.pinned_at(pointer.addr() as u64).filter(|(_, pinned)| !pinned.is_registered);
        let given = pinned.ok_or(INVALID_VALUE)?.1.flags;
        // SAFETY: the caller's promise.
        unsafe { put(flags, given | MAPPED) }
    })
}

fn pin(driver: &mut Driver, bytes: usize, flags: c_uint) -> Result<u64, Code> {
    if bytes == 0 || flags > FLAGS {
        return Err(INVALID_VALUE);
    }
    let context = driver.current()?;
    // All of it would have to be in the machine at once.
    if bytes as u64 > sysinfo().totalram.saturating_mul(sysinfo().mem_unit.into()) {
        return Err(OUT_OF_MEMORY);
    }
    let pinned = driver.checked(context)?.device.allocate_host(bytes as u64).ok_or(OUT_OF_MEMORY)?;
    driver.forget_elsewhere(context, pinned, bytes as u64);
    driver.pinned.insert(pinned, Pinned { context, bytes: bytes as u64, flags, is_registered: false });
    Ok(pinned)
}
