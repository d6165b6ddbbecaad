//! The driver itself, devices and contexts.

use crate::codes::{
    Code, INVALID_CONTEXT, INVALID_DEVICE, INVALID_VALUE, NO_DEVICE, NOT_INITIALIZED, SYSTEM_NOT_READY,
};
use crate::state::{self, Driver, call, put};
use std::ffi::{c_char, c_int, c_uint};

/// Dynamic and static shared memory that a kernel gets without asking.
pub(crate) const SHARED: u32 = 48 << 10;

impl Driver {
    /// The device of an ordinal, which is also its `CUdevice`.
    pub(crate) fn device(&self, ordinal: c_int) -> Result<usize, Code> {
        if !self.initialized {
            return Err(NOT_INITIALIZED);
        }
        usize::try_from(ordinal).ok().filter(|&ordinal| ordinal < self.config.devices).ok_or(INVALID_DEVICE)
    }

    /// Starts the driver, if that is possible.
    pub(crate) fn initialize(&mut self) -> Result<(), Code> {
        match self.config.devices {
            _ if self.malformed => Err(SYSTEM_NOT_READY),
            0 => Err(NO_DEVICE),
            _ => {
                self.initialized = true;
                Ok(())
            }
        }
    }

    /// The most shared memory that a kernel can be given.
    pub(crate) fn most_shared(&self) -> u32 {
        let kibibytes = match self.config.capability {
            (7, 0 | 2) => 96,
            (7, _) => 64,
            (8, 0 | 7) => 163,
            (8, _) | (12.., _) => 99,
            (9..=11, _) => 227,
            _ => 48,
        };
        kibibytes << 10
    }

    /// A property of every device, by its number in `CUdevice_attribute` and, alike, `cudaDeviceAttr`.
    pub(crate) fn attribute(&self, attribute: c_uint) -> Result<c_int, Code> {
        let (major, minor) = self.config.capability;
        let value = match attribute {
            // Threads of a block, and the dimensions of blocks and grids.
            1..=3 => 1024,
            4 => 64,
            5 => i32::MAX as u32,
            6 | 7 => 65535,
            8 => SHARED,
            // Constant memory, warp size, pitch, registers of a block, clock in kHz, texture alignment.
            9 => 64 << 10,
            10 => 32,
            11 => i32::MAX as u32,
            12 | 82 => 64 << 10,
            13 | 36 => 1_000_000,
            14 => 512,
            16 => self.config.multiprocessors,
            // Overlap of copies, mapped host memory, concurrent kernels, unified addressing.
            15 | 19 | 31 | 41 => 1,
            // Bus width, size of the L2 cache, threads of a multiprocessor, copy engines, texture pitch.
            37 => 1024,
            38 => 4 << 20,
            39 => 2048,
            40 => 1,
            51 => 32,
            75 => major,
            76 => minor,
            // The L1 cache holds globals and locals; shared memory of a multiprocessor and that a block may opt into.
            79 | 80 => 1,
            81 => self.most_shared() + 1024,
            97 => self.most_shared(),
            106 => 32,
            111 => 1024,
            // Memory pools: without them candle's allocations would take another path than on hardware.
            115 => 1,
            // The rest of the members of CUDA 13.0: capabilities that this device has not.
            17..=148 => 0,
            _ => return Err(INVALID_VALUE),
        };
        Ok(value as c_int)
    }
}

/// Starts the driver.
#[unsafe(no_mangle)]
pub extern "C" fn cuInit(flags: c_uint) -> Code {
    call(|driver| if flags == 0 { driver.initialize() } else { Err(INVALID_VALUE) })
}

/// The version of CUDA that the driver knows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDriverGetVersion(version: *mut c_int) -> Code {
    // SAFETY: the caller's promise.
    call(|_| unsafe { put(version, 13000) })
}

/// The number of devices.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetCount(count: *mut c_int) -> Code {
    call(|driver| {
        let devices = if driver.initialized { driver.config.devices } else { return Err(NOT_INITIALIZED) };
        // SAFETY: the caller's promise.
        unsafe { put(count, devices as c_int) }
    })
}

/// The device of an ordinal.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGet(device: *mut c_int, ordinal: c_int) -> Code {
    call(|driver| {
        driver.device(ordinal)?;
        // SAFETY: the caller's promise.
        unsafe { put(device, ordinal) }
    })
}

/// A property of a device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetAttribute(value: *mut c_int, attribute: c_uint, device: c_int) -> Code {
    call(|driver| {
        driver.device(device)?;
        // SAFETY: the caller's promise.
        unsafe { put(value, driver.attribute(attribute)?) }
    })
}

/// The name of a device, cut to the caller's buffer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetName(name: *mut c_char, len: c_int, device: c_int) -> Code {
    call(|driver| {
        driver.device(device)?;
        let Some(room) = usize::try_from(len).ok().and_then(|len| len.checked_sub(1)) else {
            return Err(INVALID_VALUE);
        };
        let (major, minor) = driver.config.capability;
        let text = format!("snuffer simulated device sm_{major}{minor}");
        for (at, byte) in text.bytes().take(room).chain([0]).enumerate() {
            // SAFETY: `at` is below `len`, the size of the caller's buffer.
            unsafe { put(name.wrapping_add(at), byte as c_char)? };
        }
        Ok(())
    })
}

/// The identity of a device: its ordinal.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetUuid_v2(uuid: *mut [u8; 16], device: c_int) -> Code {
    call(|driver| {
        let mut id = *b"snuffer-sim-gpu0";
        id[15] += driver.device(device)? as u8;
        // SAFETY: the caller's promise.
        unsafe { put(uuid, id) }
    })
}

/// The memory of a device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceTotalMem_v2(bytes: *mut usize, device: c_int) -> Code {
    call(|driver| {
        driver.device(device)?;
        // SAFETY: the caller's promise.
        unsafe { put(bytes, driver.config.memory as usize) }
    })
}

/// Retains the primary context of a device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDevicePrimaryCtxRetain(context: *mut usize, device: c_int) -> Code {
    call(|driver| {
        let ordinal = driver.device(device)?;
        let handle = driver.retain(ordinal);
        // SAFETY: the caller's promise.
        unsafe { put(context, handle) }
    })
}

/// Releases the primary context of a device; the last release destroys what is in it, its error included.
#[unsafe(no_mangle)]
pub extern "C" fn cuDevicePrimaryCtxRelease_v2(device: c_int) -> Code {
    call(|driver| {
        let ordinal = driver.device(device)?;
        driver.release(ordinal)
    })
}

/// Whether the primary context of a device is alive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDevicePrimaryCtxGetState(device: c_int, flags: *mut c_uint, active: *mut c_int) -> Code {
    call(|driver| {
        let ordinal = driver.device(device)?;
        let alive = driver.retained(ordinal) > 0;
        // SAFETY: the caller's promise.
        unsafe { put(flags, 0).and_then(|()| put(active, alive.into())) }
    })
}

/// The current context, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxGetCurrent(context: *mut usize) -> Code {
    call(|driver| {
        if !driver.initialized {
            return Err(NOT_INITIALIZED);
        }
        // SAFETY: the caller's promise.
        unsafe { put(context, state::current()) }
    })
}

/// Makes a context current, or none.
#[unsafe(no_mangle)]
pub extern "C" fn cuCtxSetCurrent(context: usize) -> Code {
    call(|driver| {
        if context != 0 {
            let ordinal = driver.ordinal(context)?;
            driver.context(ordinal)?;
        }
        state::make_current(context);
        Ok(())
    })
}

/// The device of the current context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxGetDevice(device: *mut c_int) -> Code {
    call(|driver| {
        let ordinal = driver.current()?;
        // SAFETY: the caller's promise.
        unsafe { put(device, ordinal as c_int) }
    })
}

/// Waits for the current context.
#[unsafe(no_mangle)]
pub extern "C" fn cuCtxSynchronize() -> Code {
    call(|driver| {
        let context = driver.current()?;
        driver.order.synchronize(context, None);
        driver.context(context)?.synchronize()
    })
}

/// Destroys a context that is no primary one; there are none.
#[unsafe(no_mangle)]
pub extern "C" fn cuCtxDestroy_v2(_context: usize) -> Code {
    INVALID_CONTEXT
}
