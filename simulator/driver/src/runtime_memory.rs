//! The runtime library's devices and memory: the driver's, on the primary contexts.

use crate::codes::Code;
use crate::runtime::runtime;
use crate::state::{self, Driver, put};
use std::ffi::{c_int, c_uint};

impl Driver {
    /// Makes the primary context of a device current, as the runtime does without being asked.
    fn select(&mut self, device: c_int) -> Result<(), Code> {
        self.initialize()?;
        let ordinal = self.device(device)?;
        // The runtime is one user more, once; if it is the first, it will never let go.
        let handle = self.retain(ordinal);
        if self.retained(ordinal) > 1 {
            self.release(ordinal)?;
        }
        state::make_current(handle);
        Ok(())
    }

    /// Sees to it that a context is current.
    pub(crate) fn ensure(&mut self) -> Result<(), Code> {
        match self.current() {
            Ok(ordinal) if self.retained(ordinal) > 0 => Ok(()),
            current => self.select(current.unwrap_or(0) as c_int),
        }
    }
}

/// Allocates; of nothing, null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaMalloc(address: *mut u64, bytes: usize) -> Code {
    // SAFETY: the caller's promise.
    unsafe { cudaMallocAsync_ptsz(address, bytes, 0) }
}

/// Allocates in stream order; of nothing, null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaMallocAsync_ptsz(address: *mut u64, bytes: usize, stream: usize) -> Code {
    runtime(|driver| {
        driver.ensure()?;
        let allocated = if bytes == 0 { 0 } else { driver.allocate(bytes, stream)? };
        // SAFETY: the caller's promise.
        unsafe { put(address, allocated) }
    })
}

/// Frees, and waits for the device.
#[unsafe(no_mangle)]
pub extern "C" fn cudaFree(address: u64) -> Code {
    let freed = cudaFreeAsync_ptsz(address, 0);
    if freed == 0 { cudaStreamSynchronize_ptsz(0) } else { freed }
}

/// Frees in stream order.
#[unsafe(no_mangle)]
pub extern "C" fn cudaFreeAsync_ptsz(address: u64, stream: usize) -> Code {
    runtime(|driver| {
        driver.ensure()?;
        if address == 0 { Ok(()) } else { driver.free(address, stream) }
    })
}

/// Fills with a byte, in stream order.
#[unsafe(no_mangle)]
pub extern "C" fn cudaMemsetAsync_ptsz(address: u64, value: c_int, bytes: usize, stream: usize) -> Code {
    runtime(|driver| {
        driver.ensure()?;
        driver.fill(address, value as u8, bytes, stream)
    })
}

/// Waits for a stream.
#[unsafe(no_mangle)]
pub extern "C" fn cudaStreamSynchronize_ptsz(stream: usize) -> Code {
    runtime(|driver| {
        driver.ensure()?;
        driver.wait(stream)
    })
}

/// The thread's device: that of the current context, or the first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGetDevice(device: *mut c_int) -> Code {
    runtime(|driver| {
        driver.initialize()?;
        // SAFETY: the caller's promise.
        unsafe { put(device, driver.current().unwrap_or(0) as c_int) }
    })
}

/// Chooses the thread's device.
#[unsafe(no_mangle)]
pub extern "C" fn cudaSetDevice(device: c_int) -> Code {
    runtime(|driver| driver.select(device))
}

/// The number of devices.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaGetDeviceCount(count: *mut c_int) -> Code {
    runtime(|driver| {
        driver.initialize()?;
        // SAFETY: the caller's promise.
        unsafe { put(count, driver.config.devices as c_int) }
    })
}

/// A property of a device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaDeviceGetAttribute(value: *mut c_int, attribute: c_uint, device: c_int) -> Code {
    runtime(|driver| {
        driver.initialize()?;
        driver.device(device)?;
        // SAFETY: the caller's promise.
        unsafe { put(value, driver.attribute(attribute)?) }
    })
}
