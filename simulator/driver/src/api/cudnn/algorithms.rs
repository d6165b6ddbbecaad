//! cuDNN: which algorithm to choose for a convolution, and how much workspace it wants. All compute the same here.

use super::BAD_PARAM;
use super::problems::Method::{
    Explicit, Fourier, FourierOfTiles, Implicit, Missing, Precomputed, Winograd, WinogradInSteps,
};
use super::problems::{Handles, Method, Problem};
use crate::api::put;
use crate::objects::codes::Code;
use crate::objects::driver::Driver;
use crate::objects::process::call;
use std::ffi::c_int;

/// The methods of `cudnnConvolutionFwdAlgo_t`, by number.
pub(super) const FORWARD: &[Method] =
    &[Implicit, Precomputed, Explicit, Missing, Fourier, FourierOfTiles, Winograd, WinogradInSteps];
/// Those of `cudnnConvolutionBwdDataAlgo_t`.
pub(super) const BACKWARD_DATA: &[Method] =
    &[Implicit, Precomputed, Fourier, FourierOfTiles, Winograd, WinogradInSteps];
/// Those of `cudnnConvolutionBwdFilterAlgo_t`.
pub(super) const BACKWARD_FILTER: &[Method] =
    &[Implicit, Precomputed, Fourier, Implicit, Missing, WinogradInSteps, FourierOfTiles];

/// How an algorithm is expected to do: `cudnnConvolutionFwdAlgoPerf_t`, and those of the gradients, which are alike.
#[repr(C)]
#[derive(Debug, Default, Clone, Copy)]
pub struct Performance {
    /// Its number.
    pub algorithm: u32,
    /// Whether it can do the convolution.
    pub status: Code,
    /// In milliseconds; -1 if it was not measured.
    pub time: f32,
    /// The workspace, in bytes.
    pub memory: usize,
    /// Whether it gives the same result each time, as all do here.
    pub is_deterministic: u32,
    /// The mode of arithmetic, a `cudnnMathType_t`.
    pub math: u32,
    /// Nothing yet.
    pub reserved: [c_int; 3],
}

/// Names the algorithms of a convolution, the best first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudnnGetConvolutionForwardAlgorithm_v7(
    handle: usize,
    x: usize,
    w: usize,
    convolution: usize,
    y: usize,
    wanted: c_int,
    found: *mut c_int,
    performances: *mut Performance,
) -> Code {
    let (handles, to) = (Handles { x, w, convolution, y }, (wanted, found, performances));
    // SAFETY: the caller's promise.
    call("cudnnGetConvolutionForwardAlgorithm_v7", |driver| unsafe { name(driver, handle, handles, FORWARD, to) })
}

/// Names the algorithms of the gradient of the input, the best first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudnnGetConvolutionBackwardDataAlgorithm_v7(
    handle: usize,
    w: usize,
    dy: usize,
    convolution: usize,
    dx: usize,
    wanted: c_int,
    found: *mut c_int,
    performances: *mut Performance,
) -> Code {
    let (handles, to) = (Handles { x: dx, w, convolution, y: dy }, (wanted, found, performances));
    call("cudnnGetConvolutionBackwardDataAlgorithm_v7", |driver| {
        // SAFETY: the caller's promise.
        unsafe { name(driver, handle, handles, BACKWARD_DATA, to) }
    })
}

/// Names the algorithms of the gradient of the filter, the best first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudnnGetConvolutionBackwardFilterAlgorithm_v7(
    handle: usize,
    x: usize,
    dy: usize,
    convolution: usize,
    dw: usize,
    wanted: c_int,
    found: *mut c_int,
    performances: *mut Performance,
) -> Code {
    let (handles, to) = (Handles { x, w: dw, convolution, y: dy }, (wanted, found, performances));
    call("cudnnGetConvolutionBackwardFilterAlgorithm_v7", |driver| {
        // SAFETY: the caller's promise.
        unsafe { name(driver, handle, handles, BACKWARD_FILTER, to) }
    })
}

/// The workspace of a convolution, in bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudnnGetConvolutionForwardWorkspaceSize(
    handle: usize,
    x: usize,
    w: usize,
    convolution: usize,
    y: usize,
    algorithm: u32,
    bytes: *mut usize,
) -> Code {
    let (handles, method) = (Handles { x, w, convolution, y }, method(FORWARD, algorithm));
    call("cudnnGetConvolutionForwardWorkspaceSize", |driver| {
        // SAFETY: the caller's promise.
        unsafe { size(driver, handle, handles, method?, bytes) }
    })
}

/// That of the gradient of the input.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudnnGetConvolutionBackwardDataWorkspaceSize(
    handle: usize,
    w: usize,
    dy: usize,
    convolution: usize,
    dx: usize,
    algorithm: u32,
    bytes: *mut usize,
) -> Code {
    let (handles, method) = (Handles { x: dx, w, convolution, y: dy }, method(BACKWARD_DATA, algorithm));
    call("cudnnGetConvolutionBackwardDataWorkspaceSize", |driver| {
        // SAFETY: the caller's promise.
        unsafe { size(driver, handle, handles, method?, bytes) }
    })
}

/// That of the gradient of the filter.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudnnGetConvolutionBackwardFilterWorkspaceSize(
    handle: usize,
    x: usize,
    dy: usize,
    convolution: usize,
    dw: usize,
    algorithm: u32,
    bytes: *mut usize,
) -> Code {
    let (handles, method) = (Handles { x, w: dw, convolution, y: dy }, method(BACKWARD_FILTER, algorithm));
    call("cudnnGetConvolutionBackwardFilterWorkspaceSize", |driver| {
        // SAFETY: the caller's promise.
        unsafe { size(driver, handle, handles, method?, bytes) }
    })
}

/// The method of an algorithm's number.
pub(super) fn method(methods: &[Method], algorithm: u32) -> Result<Method, Code> {
    methods.get(algorithm as usize).copied().ok_or(BAD_PARAM)
}

/// Writes as many algorithms as the caller wants: first the one with precomputed offsets, which does everything, and last what cannot.
///
/// # Safety
/// Each pointer is null, or valid for a write of what it points to and, the last, for as many as are wanted.
unsafe fn name(
    driver: &Driver,
    handle: usize,
    handles: Handles,
    methods: &[Method],
    (wanted, found, performances): (c_int, *mut c_int, *mut Performance),
) -> Result<(), Code> {
    driver.dnn.get(handle).ok_or(BAD_PARAM)?;
    let problem = Problem::of(driver, handles)?;
    let wanted = usize::try_from(wanted).ok().filter(|&wanted| wanted > 0).ok_or(BAD_PARAM)?;
    let performance = |(number, &method): (usize, &Method)| {
        let (status, memory) = problem.workspace(method).map_or_else(|code| (code, 0), |memory| (0, memory));
        let of_status = Performance { algorithm: number as u32, status, time: -1.0, memory, ..Performance::default() };
        Performance { is_deterministic: 1, ..of_status }
    };
    let mut all: Vec<_> = methods.iter().enumerate().map(performance).collect();
    all.sort_by_key(|one| (one.status, methods[one.algorithm as usize] != Precomputed));
    all.truncate(wanted);
    // SAFETY: the caller's promise.
    unsafe {
        put(found, all.len() as c_int).map_err(|_| BAD_PARAM)?;
        for (at, &one) in all.iter().enumerate() {
            put(performances.wrapping_add(at), one).map_err(|_| BAD_PARAM)?;
        }
    }
    Ok(())
}

/// # Safety
/// `bytes` is null or valid for a write.
unsafe fn size(
    driver: &Driver,
    handle: usize,
    handles: Handles,
    method: Method,
    bytes: *mut usize,
) -> Result<(), Code> {
    driver.dnn.get(handle).ok_or(BAD_PARAM)?;
    let wanted = Problem::of(driver, handles)?.workspace(method)?;
    // SAFETY: the caller's promise.
    unsafe { put(bytes, wanted) }.map_err(|_| BAD_PARAM)
}
