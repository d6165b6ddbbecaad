//! CUDA arrays: they can be made and described. Copies of them, textures and surfaces are not simulated.

use crate::api::put;
use crate::objects::codes::{Code, INVALID_HANDLE, INVALID_VALUE};
use crate::objects::memory::array::{Array, Descriptor};
use crate::objects::process::call;

/// What an array of at most two directions is to be: `CUDA_ARRAY_DESCRIPTOR`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flat {
    /// Elements in each direction.
    pub size: [usize; 2],
    /// What an element is of.
    pub format: u32,
    /// How many numbers an element has.
    pub channels: u32,
}

/// Makes an array.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuArray3DCreate_v2(array: *mut usize, descriptor: *const Descriptor) -> Code {
    call("cuArray3DCreate_v2", |driver| {
        driver.current_context()?;
        let context = driver.current()?;
        if descriptor.is_null() {
            return Err(INVALID_VALUE);
        }
        // SAFETY: not null, and hence the caller's promise.
        let descriptor = unsafe { descriptor.read() };
        descriptor.check()?;
        // SAFETY: the caller's promise.
        unsafe { put(array, driver.arrays.insert(Array { context, descriptor })) }
    })
}

/// Makes an array of at most two directions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuArrayCreate_v2(array: *mut usize, descriptor: *const Flat) -> Code {
    if descriptor.is_null() {
        return INVALID_VALUE;
    }
    // SAFETY: not null, and hence the caller's promise.
    let Flat { size: [width, height], format, channels } = unsafe { descriptor.read() };
    // SAFETY: the caller's promise.
    unsafe { cuArray3DCreate_v2(array, &Descriptor { size: [width, height, 0], format, channels, flags: 0 }) }
}

/// What an array is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuArray3DGetDescriptor_v2(descriptor: *mut Descriptor, array: usize) -> Code {
    call("cuArray3DGetDescriptor_v2", |driver| {
        driver.current_context()?;
        let found = driver.arrays.get(array).ok_or(INVALID_HANDLE)?.descriptor;
        // SAFETY: the caller's promise.
        unsafe { put(descriptor, found) }
    })
}

/// What an array of at most two directions is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuArrayGetDescriptor_v2(descriptor: *mut Flat, array: usize) -> Code {
    call("cuArrayGetDescriptor_v2", |driver| {
        driver.current_context()?;
        let Descriptor { size: [width, height, depth], format, channels, .. } =
            driver.arrays.get(array).ok_or(INVALID_HANDLE)?.descriptor;
        if depth > 0 {
            return Err(INVALID_VALUE);
        }
        // SAFETY: the caller's promise.
        unsafe { put(descriptor, Flat { size: [width, height], format, channels }) }
    })
}

/// Destroys an array.
#[unsafe(no_mangle)]
pub extern "C" fn cuArrayDestroy(array: usize) -> Code {
    call("cuArrayDestroy", |driver| {
        let array = driver.arrays.remove(array).ok_or(INVALID_HANDLE)?;
        driver.context(array.context)?.check()
    })
}
