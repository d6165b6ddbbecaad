//! cuDNN: the descriptors of tensors and filters.

use super::{BAD_PARAM, NOT_SUPPORTED, refuse, tensor_of};
use crate::api::put;
use crate::objects::codes::Code;
use crate::objects::driver::Driver;
use crate::objects::libraries::dnn::{Description, Layout};
use crate::objects::process::call;
use std::ffi::c_int;

/// The most dimensions: `CUDNN_DIM_MAX`.
const MOST_DIMS: usize = 8;
/// The largest `cudnnDataType_t`.
const LAST_TYPE: u32 = 14;
/// A tensor must have fewer elements.
const MOST_ELEMENTS: usize = 1 << 31;

// Values of `cudnnTensorFormat_t`.
const NCHW: u32 = 0;
const NHWC: u32 = 1;
const NCHW_VECT_C: u32 = 2;

/// Makes a descriptor of a tensor, which is to be set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudnnCreateTensorDescriptor(handle: *mut usize) -> Code {
    // SAFETY: the caller's promise.
    call("cudnnCreateTensorDescriptor", |driver| unsafe { make(driver, handle, Description::Tensor(None)) })
}

/// Destroys such a descriptor.
#[unsafe(no_mangle)]
pub extern "C" fn cudnnDestroyTensorDescriptor(handle: usize) -> Code {
    call("cudnnDestroyTensorDescriptor", |driver| destroy(driver, handle))
}

/// Sets a packed tensor of four dimensions, in this format.
#[unsafe(no_mangle)]
pub extern "C" fn cudnnSetTensor4dDescriptor(
    handle: usize,
    format: u32,
    data_type: u32,
    n: c_int,
    c: c_int,
    h: c_int,
    w: c_int,
) -> Code {
    call("cudnnSetTensor4dDescriptor", |driver| {
        let dims = positive(&[n, c, h, w])?;
        set_tensor(driver, handle, checked(data_type, in_format(format, &dims)?, dims)?)
    })
}

/// Sets a tensor of four dimensions, with the elements from one index to the next in each.
#[unsafe(no_mangle)]
pub extern "C" fn cudnnSetTensor4dDescriptorEx(
    handle: usize,
    data_type: u32,
    n: c_int,
    c: c_int,
    h: c_int,
    w: c_int,
    stride_n: c_int,
    stride_c: c_int,
    stride_h: c_int,
    stride_w: c_int,
) -> Code {
    call("cudnnSetTensor4dDescriptorEx", |driver| {
        let strides = [stride_n, stride_c, stride_h, stride_w].map(i64::from).to_vec();
        set_tensor(driver, handle, checked(data_type, strides, positive(&[n, c, h, w])?)?)
    })
}

/// Sets a tensor of 4 to 8 dimensions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudnnSetTensorNdDescriptor(
    handle: usize,
    data_type: u32,
    count: c_int,
    dims: *const c_int,
    strides: *const c_int,
) -> Code {
    call("cudnnSetTensorNdDescriptor", |driver| {
        let count = dimensions(count, 4)?;
        // SAFETY: the caller's promise.
        let (dims, strides) = unsafe { (integers(dims, count)?, integers(strides, count)?) };
        let strides = strides.iter().map(|&stride| stride.into()).collect();
        set_tensor(driver, handle, checked(data_type, strides, positive(dims)?)?)
    })
}

/// Sets a packed tensor of 4 to 8 dimensions, in this format.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudnnSetTensorNdDescriptorEx(
    handle: usize,
    format: u32,
    data_type: u32,
    count: c_int,
    dims: *const c_int,
) -> Code {
    call("cudnnSetTensorNdDescriptorEx", |driver| {
        // SAFETY: the caller's promise.
        let dims = positive(unsafe { integers(dims, dimensions(count, 4)?)? })?;
        set_tensor(driver, handle, checked(data_type, in_format(format, &dims)?, dims)?)
    })
}

/// How many bytes a tensor spans, from its first element to its last.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudnnGetTensorSizeInBytes(handle: usize, bytes: *mut usize) -> Code {
    call("cudnnGetTensorSizeInBytes", |driver| {
        let layout = tensor_of(driver, handle)?;
        let Some(element) = layout.element() else {
            return refuse(&format!("tensors of cuDNN's data type {}", layout.data_type));
        };
        let last = |(&dim, &stride): (&usize, &i64)| (dim as i64 - 1) * stride;
        let elements = 1 + layout.dims.iter().zip(&layout.strides).map(last).sum::<i64>();
        // SAFETY: the caller's promise.
        unsafe { put(bytes, elements as usize * element.size() as usize) }.map_err(|_| BAD_PARAM)
    })
}

/// Makes a descriptor of a filter, which is to be set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudnnCreateFilterDescriptor(handle: *mut usize) -> Code {
    // SAFETY: the caller's promise.
    call("cudnnCreateFilterDescriptor", |driver| unsafe { make(driver, handle, Description::Filter(None)) })
}

/// Destroys such a descriptor.
#[unsafe(no_mangle)]
pub extern "C" fn cudnnDestroyFilterDescriptor(handle: usize) -> Code {
    call("cudnnDestroyFilterDescriptor", |driver| destroy(driver, handle))
}

/// Sets a packed filter: channels of the output, those of the input in a group, and two sizes.
#[unsafe(no_mangle)]
pub extern "C" fn cudnnSetFilter4dDescriptor(
    handle: usize,
    data_type: u32,
    format: u32,
    k: c_int,
    c: c_int,
    h: c_int,
    w: c_int,
) -> Code {
    call("cudnnSetFilter4dDescriptor", |driver| set_filter(driver, handle, data_type, format, &[k, c, h, w]))
}

/// Sets a packed filter of 3 to 8 dimensions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudnnSetFilterNdDescriptor(
    handle: usize,
    data_type: u32,
    format: u32,
    count: c_int,
    dims: *const c_int,
) -> Code {
    call("cudnnSetFilterNdDescriptor", |driver| {
        // SAFETY: the caller's promise.
        let dims = unsafe { integers(dims, dimensions(count, 3)?)? };
        set_filter(driver, handle, data_type, format, dims)
    })
}

fn set_tensor(driver: &mut Driver, handle: usize, layout: Layout) -> Result<(), Code> {
    match driver.dnn_descriptions.get_mut(handle) {
        Some(Description::Tensor(slot)) => *slot = Some(layout),
        _ => return Err(BAD_PARAM),
    }
    Ok(())
}

fn set_filter(driver: &mut Driver, handle: usize, data_type: u32, format: u32, dims: &[c_int]) -> Result<(), Code> {
    let dims = positive(dims)?;
    let layout = checked(data_type, in_format(format, &dims)?, dims)?;
    match driver.dnn_descriptions.get_mut(handle) {
        Some(Description::Filter(slot)) => *slot = Some(layout),
        _ => return Err(BAD_PARAM),
    }
    Ok(())
}

/// The layout, if the type exists and the tensor is not too large.
fn checked(data_type: u32, strides: Vec<i64>, dims: Vec<usize>) -> Result<Layout, Code> {
    if data_type > LAST_TYPE {
        return Err(BAD_PARAM);
    }
    let layout = Layout { data_type, dims, strides };
    if layout.count() >= MOST_ELEMENTS { Err(NOT_SUPPORTED) } else { Ok(layout) }
}

/// The strides of a packed tensor in a format: the channels come second, or last.
fn in_format(format: u32, dims: &[usize]) -> Result<Vec<i64>, Code> {
    let rank = dims.len();
    let slowest_first: Vec<usize> = match format {
        NCHW => (0..rank).collect(),
        NHWC => [0].into_iter().chain(2..rank).chain([1]).collect(),
        NCHW_VECT_C => return refuse("the format CUDNN_TENSOR_NCHW_VECT_C"),
        _ => return Err(BAD_PARAM),
    };
    let (mut strides, mut next) = (vec![0; rank], 1);
    for &dim in slowest_first.iter().rev() {
        strides[dim] = next;
        next *= dims[dim] as i64;
    }
    Ok(strides)
}

/// How many dimensions there are: not fewer than the least, and not too many.
fn dimensions(count: c_int, least: usize) -> Result<usize, Code> {
    usize::try_from(count).ok().filter(|count| (least..=MOST_DIMS).contains(count)).ok_or(NOT_SUPPORTED)
}

/// Sizes, which must all be positive.
pub(super) fn positive(sizes: &[c_int]) -> Result<Vec<usize>, Code> {
    let size = |&size: &c_int| usize::try_from(size).ok().filter(|&size| size > 0).ok_or(BAD_PARAM);
    sizes.iter().map(size).collect()
}

/// The caller's numbers.
///
/// # Safety
/// `from` is null or valid for a read of `count` numbers.
pub(super) unsafe fn integers<'a>(from: *const c_int, count: usize) -> Result<&'a [c_int], Code> {
    if from.is_null() {
        return Err(BAD_PARAM);
    }
    // SAFETY: not null, and hence valid.
    Ok(unsafe { std::slice::from_raw_parts(from, count) })
}

/// Makes a descriptor.
///
/// # Safety
/// `handle` is null or valid for a write.
pub(super) unsafe fn make(driver: &mut Driver, handle: *mut usize, description: Description) -> Result<(), Code> {
    // SAFETY: the caller's promise.
    unsafe { put(handle, driver.dnn_descriptions.insert(description)) }.map_err(|_| BAD_PARAM)
}

/// Destroys a descriptor of any kind.
pub(super) fn destroy(driver: &mut Driver, handle: usize) -> Result<(), Code> {
    driver.dnn_descriptions.remove(handle).map(drop).ok_or(BAD_PARAM)
}
