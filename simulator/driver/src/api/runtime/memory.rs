//! The runtime's memory: the driver's, on the primary contexts.

use super::{LEGACY, ensure, own_default, runtime};
use crate::api::put;
use crate::objects::codes::Code;
use std::ffi::c_int;

/// Allocates; null for 0 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaMalloc(address: *mut u64, bytes: usize) -> Code {
    // SAFETY: the caller's promise.
    unsafe { cudaMallocAsync_ptsz(address, bytes, LEGACY) }
}

/// Allocates in stream order; null for 0 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaMallocAsync_ptsz(address: *mut u64, bytes: usize, stream: usize) -> Code {
    runtime("cudaMallocAsync_ptsz", |driver| {
        ensure(driver)?;
        let allocated = if bytes == 0 { 0 } else { driver.allocate(bytes, own_default(stream))? };
        // SAFETY: the caller's promise.
        unsafe { put(address, allocated) }
    })
}

/// Frees, and waits for the device.
#[unsafe(no_mangle)]
pub extern "C" fn cudaFree(address: u64) -> Code {
    let freed = cudaFreeAsync_ptsz(address, LEGACY);
    if freed == 0 { cudaStreamSynchronize_ptsz(LEGACY) } else { freed }
}

/// Frees in stream order.
#[unsafe(no_mangle)]
pub extern "C" fn cudaFreeAsync_ptsz(address: u64, stream: usize) -> Code {
    runtime("cudaFreeAsync_ptsz", |driver| {
        ensure(driver)?;
        if address == 0 { Ok(()) } else { driver.free(address, own_default(stream)) }
    })
}

/// Fills with a byte, in stream order.
#[unsafe(no_mangle)]
pub extern "C" fn cudaMemsetAsync_ptsz(address: u64, value: c_int, bytes: usize, stream: usize) -> Code {
    runtime("cudaMemsetAsync_ptsz", |driver| {
        ensure(driver)?;
        driver.fill(address, [value as u8], bytes, own_default(stream))
    })
}

/// Waits for a stream.
#[unsafe(no_mangle)]
pub extern "C" fn cudaStreamSynchronize_ptsz(stream: usize) -> Code {
    runtime("cudaStreamSynchronize_ptsz", |driver| {
        ensure(driver)?;
        driver.wait(own_default(stream))
    })
}
