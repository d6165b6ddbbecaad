//! Functions as they are in older versions of CUDA. A driver keeps them for programs that bind those.

use super::context::{cuCtxDestroy_v2, cuDevicePrimaryCtxRelease_v2};
use super::device::cuDeviceGetUuid_v2;
use super::managed::{Location, cuMemAdvise_v2, cuMemPrefetchAsync_v2};
use super::preferences::cuDevicePrimaryCtxSetFlags_v2;
use super::stream::{cuEventDestroy_v2, cuEventElapsedTime_v2, cuStreamDestroy_v2};
use crate::objects::codes::Code;
use std::ffi::{c_int, c_uint};

/// The number that stands for the host in the place of a device.
const HOST: c_int = -1;

impl Location {
    /// What the number of a device, or of the host, stands for.
    fn of(device: c_int) -> Self {
        if device == HOST { Self { kind: 2, id: 0 } } else { Self { kind: 1, id: device } }
    }
}

/// The identity of a device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetUuid(uuid: *mut [u8; 16], device: c_int) -> Code {
    // SAFETY: the caller's promise.
    unsafe { cuDeviceGetUuid_v2(uuid, device) }
}

/// The milliseconds between two events.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuEventElapsedTime(milliseconds: *mut f32, start: usize, end: usize) -> Code {
    // SAFETY: the caller's promise.
    unsafe { cuEventElapsedTime_v2(milliseconds, start, end) }
}

/// Says how managed memory will be used, which is of no effect.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemAdvise(address: u64, bytes: usize, advice: c_uint, device: c_int) -> Code {
    cuMemAdvise_v2(address, bytes, advice, Location::of(device))
}

/// Moves managed memory before it is needed. There is nothing to move.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemPrefetchAsync(address: u64, bytes: usize, device: c_int, stream: usize) -> Code {
    cuMemPrefetchAsync_v2(address, bytes, Location::of(device), 0, stream)
}

/// Destroys a context that is not primary.
#[unsafe(no_mangle)]
pub extern "C" fn cuCtxDestroy(context: usize) -> Code {
    cuCtxDestroy_v2(context)
}

/// Releases the primary context of a device.
#[unsafe(no_mangle)]
pub extern "C" fn cuDevicePrimaryCtxRelease(device: c_int) -> Code {
    cuDevicePrimaryCtxRelease_v2(device)
}

/// Sets the flags of the primary context of a device.
#[unsafe(no_mangle)]
pub extern "C" fn cuDevicePrimaryCtxSetFlags(device: c_int, flags: c_uint) -> Code {
    cuDevicePrimaryCtxSetFlags_v2(device, flags)
}

/// Destroys a stream.
#[unsafe(no_mangle)]
pub extern "C" fn cuStreamDestroy(stream: usize) -> Code {
    cuStreamDestroy_v2(stream)
}

/// Destroys an event.
#[unsafe(no_mangle)]
pub extern "C" fn cuEventDestroy(event: usize) -> Code {
    cuEventDestroy_v2(event)
}
