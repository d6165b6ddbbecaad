//! Device memory: allocation, fills and copies.

use crate::api::put;
use crate::objects::codes::{Code, INVALID_VALUE};
use crate::objects::process::call;
use std::ffi::c_void;

/// Allocates in stream order.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAllocAsync(address: *mut u64, bytes: usize, stream: usize) -> Code {
    call("cuMemAllocAsync", |driver| {
        let allocated = driver.allocate_of_pool(None, bytes, stream)?;
        // SAFETY: the caller's promise.
        unsafe { put(address, allocated) }
    })
}

/// Frees in stream order.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemFreeAsync(address: u64, stream: usize) -> Code {
    call("cuMemFreeAsync", |driver| {
        driver.leave_pool(address);
        driver.free(address, stream)
    })
}

/// Allocates; 0 bytes are an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAlloc_v2(address: *mut u64, bytes: usize) -> Code {
    call("cuMemAlloc_v2", |driver| {
        driver.check_unsafe()?;
        let allocated = if bytes == 0 { Err(INVALID_VALUE) } else { driver.allocate(bytes, 0) };
        // SAFETY: the caller's promise.
        unsafe { put(address, allocated?) }
    })
}

/// Frees, and waits for the device: before, unless the memory was allocated in stream order, and after.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemFree_v2(address: u64) -> Code {
    call("cuMemFree_v2", |driver| {
        driver.check_unsafe()?;
        let context = driver.current()?;
        driver.await_context(context)?;
        if !driver.leave_pool(address) {
            driver.host_waits_for(context, None);
        }
        driver.free(address, 0)?;
        driver.wait(0)
    })
}

/// Free and total memory of the current device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) -> Code {
    call("cuMemGetInfo_v2", |driver| {
        let (ours, held) = (driver.config.memory, driver.held);
        let used = driver.current_context()?.device.in_use();
        // SAFETY: the caller's promise.
        unsafe { put(free, ours.saturating_sub(used) as usize).and_then(|()| put(total, (ours + held) as usize)) }
    })
}

/// Fills with a byte, in stream order.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemsetD8Async(address: u64, value: u8, bytes: usize, stream: usize) -> Code {
    call("cuMemsetD8Async", |driver| driver.fill(address, [value], bytes, stream))
}

/// Fills with a byte.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemsetD8_v2(address: u64, value: u8, bytes: usize) -> Code {
    cuMemsetD8Async(address, value, bytes, 0)
}

/// Fills with values of two bytes, in stream order.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemsetD16Async(address: u64, value: u16, count: usize, stream: usize) -> Code {
    call("cuMemsetD16Async", |driver| driver.fill(address, value.to_le_bytes(), count, stream))
}

/// Fills with values of two bytes.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemsetD16_v2(address: u64, value: u16, count: usize) -> Code {
    cuMemsetD16Async(address, value, count, 0)
}

/// Fills with values of four bytes, in stream order.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemsetD32Async(address: u64, value: u32, count: usize, stream: usize) -> Code {
    call("cuMemsetD32Async", |driver| driver.fill(address, value.to_le_bytes(), count, stream))
}

/// Fills with values of four bytes.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemsetD32_v2(address: u64, value: u32, count: usize) -> Code {
    cuMemsetD32Async(address, value, count, 0)
}

/// Copies to the device, in stream order. Pageable memory is read at the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyHtoDAsync_v2(to: u64, from: *const c_void, bytes: usize, stream: usize) -> Code {
    // SAFETY: the caller's promise.
    call("cuMemcpyHtoDAsync_v2", |driver| unsafe { driver.upload(to, from, bytes, stream) })
}

/// Copies to the device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyHtoD_v2(to: u64, from: *const c_void, bytes: usize) -> Code {
    call("cuMemcpyHtoD_v2", |driver| {
        driver.check_unsafe()?;
        driver.wait(0)?;
        // SAFETY: the caller's promise.
        unsafe { driver.upload(to, from, bytes, 0) }?;
        driver.wait(0)
    })
}

/// Copies to the host, and waits for the copy unless the memory is pinned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyDtoHAsync_v2(to: *mut c_void, from: u64, bytes: usize, stream: usize) -> Code {
    // SAFETY: the caller's promise.
    call("cuMemcpyDtoHAsync_v2", |driver| unsafe { driver.download(to, from, bytes, stream) })
}

/// Copies to the host.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyDtoH_v2(to: *mut c_void, from: u64, bytes: usize) -> Code {
    call("cuMemcpyDtoH_v2", |driver| {
        driver.check_unsafe()?;
        if bytes > 0 {
            driver.wait(0)?;
        }
        // SAFETY: the caller's promise.
        unsafe { driver.download(to, from, bytes, 0) }?;
        if bytes > 0 { driver.wait(0) } else { Ok(()) }
    })
}

/// Copies between any memory of the host and of the devices, in stream order: unified addresses say which is which.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyAsync(to: u64, from: u64, bytes: usize, stream: usize) -> Code {
    // SAFETY: the caller's promise.
    call("cuMemcpyAsync", |driver| unsafe { driver.copy_any(to, from, bytes, stream) })
}

/// Copies between any memory of the host and of the devices.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpy(to: u64, from: u64, bytes: usize) -> Code {
    call("cuMemcpy", |driver| {
        driver.check_unsafe()?;
        driver.wait(0)?;
        // SAFETY: the caller's promise.
        unsafe { driver.copy_any(to, from, bytes, 0) }?;
        driver.wait(0)
    })
}

/// Copies within the devices' memory, in stream order.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpyDtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: usize) -> Code {
    call("cuMemcpyDtoDAsync_v2", |driver| driver.copy(to, from, bytes, stream))
}

/// Copies within the devices' memory.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpyDtoD_v2(to: u64, from: u64, bytes: usize) -> Code {
    cuMemcpyDtoDAsync_v2(to, from, bytes, 0)
}

/// Copies from one context to another, in stream order.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpyPeerAsync(
    to: u64,
    to_context: usize,
    from: u64,
    from_context: usize,
    bytes: usize,
    stream: usize,
) -> Code {
    call("cuMemcpyPeerAsync", |driver| {
        for (context, address) in [(to_context, to), (from_context, from)] {
            let index = driver.index(context)?;
            if bytes > 0 && !driver.context(index)?.device.owns(address) {
                return Err(INVALID_VALUE);
            }
        }
        driver.copy(to, from, bytes, stream)
    })
}
