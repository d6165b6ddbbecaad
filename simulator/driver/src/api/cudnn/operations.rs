//! cuDNN: the descriptors of convolutions, poolings, activations and reductions.

use super::descriptors::{destroy, integers, make, positive};
use super::{BAD_PARAM, NOT_SUPPORTED};
use crate::objects::codes::Code;
use crate::objects::driver::Driver;
use crate::objects::libraries::dnn::{Activation, Convolution, Description, Pooling, Reduction, Steps};
use crate::objects::process::call;
use std::ffi::c_int;

/// The most dimensions in space.
const MOST_IN_SPACE: usize = 6;

/// Makes a descriptor of a convolution, which is to be set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudnnCreateConvolutionDescriptor(handle: *mut usize) -> Code {
    // SAFETY: the caller's promise.
    call("cudnnCreateConvolutionDescriptor", |driver| unsafe {
        make(driver, handle, Description::Convolution(None, 1))
    })
}

/// Destroys such a descriptor.
#[unsafe(no_mangle)]
pub extern "C" fn cudnnDestroyConvolutionDescriptor(handle: usize) -> Code {
    call("cudnnDestroyConvolutionDescriptor", |driver| destroy(driver, handle))
}

/// Sets a convolution of two dimensions. Pads may be zero, strides and dilations not.
#[unsafe(no_mangle)]
pub extern "C" fn cudnnSetConvolution2dDescriptor(
    handle: usize,
    pad_h: c_int,
    pad_w: c_int,
    stride_h: c_int,
    stride_w: c_int,
    dilation_h: c_int,
    dilation_w: c_int,
    mode: u32,
    compute: u32,
) -> Code {
    call("cudnnSetConvolution2dDescriptor", |driver| {
        let steps = steps(&[pad_h, pad_w], &[stride_h, stride_w], &[dilation_h, dilation_w])?;
        set_convolution(driver, handle, steps, mode, compute)
    })
}

/// Sets a convolution of as many dimensions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudnnSetConvolutionNdDescriptor(
    handle: usize,
    count: c_int,
    pads: *const c_int,
    strides: *const c_int,
    dilations: *const c_int,
    mode: u32,
    compute: u32,
) -> Code {
    call("cudnnSetConvolutionNdDescriptor", |driver| {
        let count = in_space(count)?;
        // SAFETY: the caller's promise.
        let [pads, strides, dilations] = unsafe { [pads, strides, dilations].map(|from| integers(from, count)) };
        set_convolution(driver, handle, steps(pads?, strides?, dilations?)?, mode, compute)
    })
}

/// Sets the groups of channels.
#[unsafe(no_mangle)]
pub extern "C" fn cudnnSetConvolutionGroupCount(handle: usize, count: c_int) -> Code {
    call("cudnnSetConvolutionGroupCount", |driver| {
        let count = positive(&[count])?[0];
        match driver.dnn_descriptions.get_mut(handle) {
            Some(Description::Convolution(_, groups)) => *groups = count,
            _ => return Err(BAD_PARAM),
        }
        Ok(())
    })
}

/// Allows tensor cores, or floats of fewer bits. All modes compute the same here, with all bits.
#[unsafe(no_mangle)]
pub extern "C" fn cudnnSetConvolutionMathType(handle: usize, math: u32) -> Code {
    call("cudnnSetConvolutionMathType", |driver| match driver.dnn_descriptions.get(handle) {
        Some(Description::Convolution(..)) if math <= 3 => Ok(()),
        _ => Err(BAD_PARAM),
    })
}

/// Makes a descriptor of a pooling, which is to be set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudnnCreatePoolingDescriptor(handle: *mut usize) -> Code {
    // SAFETY: the caller's promise.
    call("cudnnCreatePoolingDescriptor", |driver| unsafe { make(driver, handle, Description::Pooling(None)) })
}

/// Destroys such a descriptor.
#[unsafe(no_mangle)]
pub extern "C" fn cudnnDestroyPoolingDescriptor(handle: usize) -> Code {
    call("cudnnDestroyPoolingDescriptor", |driver| destroy(driver, handle))
}

/// Sets a pooling of as many dimensions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudnnSetPoolingNdDescriptor(
    handle: usize,
    mode: u32,
    nan: u32,
    count: c_int,
    window: *const c_int,
    pads: *const c_int,
    strides: *const c_int,
) -> Code {
    call("cudnnSetPoolingNdDescriptor", |driver| {
        let count = in_space(count)?;
        // SAFETY: the caller's promise.
        let [window, pads, strides] = unsafe { [window, pads, strides].map(|from| integers(from, count)) };
        let (window, steps) = (positive(window?)?, steps(pads?, strides?, &vec![1; count])?);
        let pooling = Pooling { mode, propagates_nan: flag(nan)?, window, steps };
        if mode > 3 {
            return Err(BAD_PARAM);
        }
        match driver.dnn_descriptions.get_mut(handle) {
            Some(Description::Pooling(slot)) => *slot = Some(pooling),
            _ => return Err(BAD_PARAM),
        }
        Ok(())
    })
}

/// Makes a descriptor of an activation, which is to be set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudnnCreateActivationDescriptor(handle: *mut usize) -> Code {
    // SAFETY: the caller's promise.
    call("cudnnCreateActivationDescriptor", |driver| unsafe { make(driver, handle, Description::Activation(None)) })
}

/// Destroys such a descriptor.
#[unsafe(no_mangle)]
pub extern "C" fn cudnnDestroyActivationDescriptor(handle: usize) -> Code {
    call("cudnnDestroyActivationDescriptor", |driver| destroy(driver, handle))
}

/// Sets an activation.
#[unsafe(no_mangle)]
pub extern "C" fn cudnnSetActivationDescriptor(handle: usize, mode: u32, nan: u32, coefficient: f64) -> Code {
    call("cudnnSetActivationDescriptor", |driver| {
        let activation = Activation { mode, propagates_nan: flag(nan)?, coefficient };
        match driver.dnn_descriptions.get_mut(handle) {
            Some(Description::Activation(slot)) if mode <= 6 => *slot = Some(activation),
            _ => return Err(BAD_PARAM),
        }
        Ok(())
    })
}

/// Makes a descriptor of a reduction, which is to be set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudnnCreateReduceTensorDescriptor(handle: *mut usize) -> Code {
    // SAFETY: the caller's promise.
    call("cudnnCreateReduceTensorDescriptor", |driver| unsafe { make(driver, handle, Description::Reduction(None)) })
}

/// Destroys such a descriptor.
#[unsafe(no_mangle)]
pub extern "C" fn cudnnDestroyReduceTensorDescriptor(handle: usize) -> Code {
    call("cudnnDestroyReduceTensorDescriptor", |driver| destroy(driver, handle))
}

/// Sets a reduction. Indices have 32 bits, the only ones that the documentation supports.
#[unsafe(no_mangle)]
pub extern "C" fn cudnnSetReduceTensorDescriptor(
    handle: usize,
    operation: u32,
    compute: u32,
    nan: u32,
    indices: u32,
    index_type: u32,
) -> Code {
    call("cudnnSetReduceTensorDescriptor", |driver| {
        let reduction = Reduction { operation, propagates_nan: flag(nan)?, with_indices: flag(indices)? };
        if operation > 8 || index_type > 3 {
            return Err(BAD_PARAM);
        }
        // Sums are made of floats, doubles and halves.
        if index_type != 0 || compute > 2 {
            return Err(NOT_SUPPORTED);
        }
        match driver.dnn_descriptions.get_mut(handle) {
            Some(Description::Reduction(slot)) => *slot = Some(reduction),
            _ => return Err(BAD_PARAM),
        }
        Ok(())
    })
}

fn set_convolution(driver: &mut Driver, handle: usize, steps: Steps, mode: u32, compute: u32) -> Result<(), Code> {
    if mode > 1 {
        return Err(BAD_PARAM);
    }
    match driver.dnn_descriptions.get_mut(handle) {
        Some(Description::Convolution(slot, _)) => *slot = Some(Convolution { steps, flipped: mode == 0, compute }),
        _ => return Err(BAD_PARAM),
    }
    Ok(())
}

fn steps(pads: &[c_int], strides: &[c_int], dilations: &[c_int]) -> Result<Steps, Code> {
    let pads: Result<_, _> = pads.iter().map(|&pad| usize::try_from(pad).map_err(|_| BAD_PARAM)).collect();
    Ok(Steps { pads: pads?, strides: positive(strides)?, dilations: positive(dilations)? })
}

fn in_space(count: c_int) -> Result<usize, Code> {
    let count = usize::try_from(count).map_err(|_| BAD_PARAM)?;
    if count == 0 || count > MOST_IN_SPACE { Err(NOT_SUPPORTED) } else { Ok(count) }
}

/// A choice of two.
fn flag(value: u32) -> Result<bool, Code> {
    match value {
        0 | 1 => Ok(value == 1),
        _ => Err(BAD_PARAM),
    }
}
