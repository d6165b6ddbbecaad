//! cuBLASLt: the descriptions of matrices and products.

use std::ffi::{c_int, c_void};

use crate::api::cublas::{INVALID_VALUE, refuse};
use crate::api::put;
use crate::objects::codes::Code;
use crate::objects::driver::Driver;
use crate::objects::libraries::product_description::{Description, Layout, Operation};
use crate::objects::process::call;

/// Describes how a matrix is stored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cublasLtMatrixLayoutCreate(
    handle: *mut usize,
    data_type: u32,
    rows: u64,
    columns: u64,
    leading: i64,
) -> Code {
    let layout = Layout { data_type, rows, columns, leading, batch: 1, stride: 0 };
    // SAFETY: the caller's promise.
    call("cublasLtMatrixLayoutCreate", |driver| unsafe { make(driver, handle, Description::Layout(layout)) })
}

/// Destroys such a description.
#[unsafe(no_mangle)]
pub extern "C" fn cublasLtMatrixLayoutDestroy(handle: usize) -> Code {
    call("cublasLtMatrixLayoutDestroy", |driver| destroy(driver, handle))
}

/// Sets a property of a layout.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cublasLtMatrixLayoutSetAttribute(
    handle: usize,
    attribute: u32,
    value: *const c_void,
    bytes: usize,
) -> Code {
    call("cublasLtMatrixLayoutSetAttribute", |driver| {
        let Some(Description::Layout(layout)) = driver.descriptions.get_mut(handle) else {
            return Err(INVALID_VALUE);
        };
        // SAFETY: the caller's promise.
        unsafe {
            match attribute {
                0 => layout.data_type = read(value, bytes)?,
                1 if read::<c_int>(value, bytes)? == 0 => {}
                2 => layout.rows = read(value, bytes)?,
                3 => layout.columns = read(value, bytes)?,
                4 => layout.leading = read(value, bytes)?,
                5 => layout.batch = read(value, bytes)?,
                6 => layout.stride = read(value, bytes)?,
                other => return refuse(format!("attribute {other} of a layout of cuBLASLt")),
            }
        }
        Ok(())
    })
}

/// Describes what is done with the matrices.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cublasLtMatmulDescCreate(handle: *mut usize, compute: u32, _factors: u32) -> Code {
    let operation = Operation { compute, operations: [0; 2], epilogue: 1, bias: 0, bias_stride: 0, bias_type: None };
    // SAFETY: the caller's promise.
    call("cublasLtMatmulDescCreate", |driver| unsafe { make(driver, handle, Description::Operation(operation)) })
}

/// Destroys such a description.
#[unsafe(no_mangle)]
pub extern "C" fn cublasLtMatmulDescDestroy(handle: usize) -> Code {
    call("cublasLtMatmulDescDestroy", |driver| destroy(driver, handle))
}

/// Sets a property of a product.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cublasLtMatmulDescSetAttribute(
    handle: usize,
    attribute: u32,
    value: *const c_void,
    bytes: usize,
) -> Code {
    call("cublasLtMatmulDescSetAttribute", |driver| {
        let Some(Description::Operation(operation)) = driver.descriptions.get_mut(handle) else {
            return Err(INVALID_VALUE);
        };
        // SAFETY: the caller's promise.
        unsafe {
            match attribute {
                0 => operation.compute = read(value, bytes)?,
                // Factors on the host, and C as it is.
                2 | 5 if read::<u32>(value, bytes)? == 0 => {}
                3 => operation.operations[0] = read(value, bytes)?,
                4 => operation.operations[1] = read(value, bytes)?,
                7 => operation.epilogue = read(value, bytes.min(4))?,
                8 => operation.bias = read(value, bytes)?,
                10 => operation.bias_stride = read(value, bytes)?,
                // How many multiprocessors to use, and whether sums of 8-bit floats may be less exact.
                15 | 25 => {}
                26 => operation.bias_type = Some(read(value, bytes)?),
                other => return refuse(format!("attribute {other} of a product of cuBLASLt")),
            }
        }
        Ok(())
    })
}

/// Describes which algorithm to choose. There is one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cublasLtMatmulPreferenceCreate(handle: *mut usize) -> Code {
    // SAFETY: the caller's promise.
    call("cublasLtMatmulPreferenceCreate", |driver| unsafe { make(driver, handle, Description::Preference) })
}

/// Destroys such a description.
#[unsafe(no_mangle)]
pub extern "C" fn cublasLtMatmulPreferenceDestroy(handle: usize) -> Code {
    call("cublasLtMatmulPreferenceDestroy", |driver| destroy(driver, handle))
}

/// Sets a preference, which is of no effect.
#[unsafe(no_mangle)]
pub extern "C" fn cublasLtMatmulPreferenceSetAttribute(
    handle: usize,
    _attribute: u32,
    _value: *const c_void,
    _bytes: usize,
) -> Code {
    call("cublasLtMatmulPreferenceSetAttribute", |driver| match driver.descriptions.get(handle) {
        Some(Description::Preference) => Ok(()),
        _ => Err(INVALID_VALUE),
    })
}

/// Makes an object.
///
/// # Safety
/// `handle` is null or valid for a write.
pub(super) unsafe fn make(driver: &mut Driver, handle: *mut usize, description: Description) -> Result<(), Code> {
    // SAFETY: the caller's promise.
    unsafe { put(handle, driver.descriptions.insert(description)) }.map_err(|_| INVALID_VALUE)
}

pub(super) fn destroy(driver: &mut Driver, handle: usize) -> Result<(), Code> {
    driver.descriptions.remove(handle).map(drop).ok_or(INVALID_VALUE)
}

/// The value of an attribute, which has as many bytes as its type.
///
/// # Safety
/// `value` is null or valid for a read of `bytes` bytes.
unsafe fn read<T: Copy>(value: *const c_void, bytes: usize) -> Result<T, Code> {
    if value.is_null() || bytes != size_of::<T>() {
        return Err(INVALID_VALUE);
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { value.cast::<T>().read_unaligned() })
}
