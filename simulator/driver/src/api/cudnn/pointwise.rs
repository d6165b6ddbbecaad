//! cuDNN: activations, softmax, pooling and reductions.

use super::{BAD_PARAM, NOT_SUPPORTED, at, factors, submit, tensor_of, use_workspace};
use crate::api::put;
use crate::objects::codes::Code;
use crate::objects::driver::Driver;
use crate::objects::libraries::dnn::geometry::Geometry;
use crate::objects::libraries::dnn::pointwise::{Softmax, activate, pool, softmax};
use crate::objects::libraries::dnn::reduction::reduce;
use crate::objects::libraries::dnn::tensor::Tensor;
use crate::objects::libraries::dnn::{Description, Layout, Pooling, Reduction};
use crate::objects::process::call;
use simulator::{Device, Fault};
use std::ffi::c_void;

/// A tensor that is read, one of the same type that is written, and the factors of the result and of what was there.
struct Pair {
    x: Tensor,
    y: Tensor,
    factors: [f64; 2],
}

impl Pair {
    /// # Safety
    /// The factors are null or valid for a read of a number of the type that those of the output have.
    unsafe fn of(
        driver: &Driver,
        [(x_layout, x), (y_layout, y)]: [(usize, u64); 2],
        from: [*const c_void; 2],
    ) -> Result<Self, Code> {
        let (x, y) = (at("x", x, tensor_of(driver, x_layout)?)?, at("y", y, tensor_of(driver, y_layout)?)?);
        if x.element != y.element {
            return Err(BAD_PARAM);
        }
        // SAFETY: the caller's promise.
        let factors = unsafe { factors(y.element, from)? };
        Ok(Self { x, y, factors })
    }

    /// Submits work on both tensors.
    fn submit(
        self,
        driver: &mut Driver,
        handle: usize,
        work: impl Fn(&mut Device, [&Tensor; 2], [f64; 2]) -> Result<(), Fault> + Send + 'static,
    ) -> Result<(), Code> {
        let accesses = vec![(self.x.address, false), (self.y.address, true)];
        submit(driver, handle, accesses, move |device| work(device, [&self.x, &self.y], self.factors))
    }
}

/// `y = alpha * activation(x) + beta * y`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudnnActivationForward(
    handle: usize,
    activation: usize,
    alpha: *const c_void,
    x_layout: usize,
    x: u64,
    beta: *const c_void,
    y_layout: usize,
    y: u64,
) -> Code {
    call("cudnnActivationForward", |driver| {
        let activation = match driver.dnn_descriptions.get(activation) {
            Some(Description::Activation(Some(activation))) => *activation,
            _ => return Err(BAD_PARAM),
        };
        // SAFETY: the caller's promise.
        let pair = unsafe { Pair::of(driver, [(x_layout, x), (y_layout, y)], [alpha, beta])? };
        if pair.x.dims != pair.y.dims {
            return Err(BAD_PARAM);
        }
        pair.submit(driver, handle, move |device, tensors, factors| activate(device, activation, tensors, factors))
    })
}

/// `y = alpha * softmax(x) + beta * y`, over the channels of each place or all elements of each image.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudnnSoftmaxForward(
    handle: usize,
    algorithm: u32,
    mode: u32,
    alpha: *const c_void,
    x_layout: usize,
    x: u64,
    beta: *const c_void,
    y_layout: usize,
    y: u64,
) -> Code {
    call("cudnnSoftmaxForward", |driver| {
        // SAFETY: the caller's promise.
        let pair = unsafe { Pair::of(driver, [(x_layout, x), (y_layout, y)], [alpha, beta])? };
        if algorithm > 2 || mode > 1 || pair.x.dims != pair.y.dims {
            return Err(BAD_PARAM);
        }
        let how = Softmax { algorithm, by_place: mode == 1 };
        pair.submit(driver, handle, move |device, tensors, factors| softmax(device, how, tensors, factors))
    })
}

/// `y = alpha * pooled(x) + beta * y`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudnnPoolingForward(
    handle: usize,
    pooling: usize,
    alpha: *const c_void,
    x_layout: usize,
    x: u64,
    beta: *const c_void,
    y_layout: usize,
    y: u64,
) -> Code {
    call("cudnnPoolingForward", |driver| {
        let pooling = match driver.dnn_descriptions.get(pooling) {
            Some(Description::Pooling(Some(pooling))) => pooling.clone(),
            _ => return Err(BAD_PARAM),
        };
        // SAFETY: the caller's promise.
        let pair = unsafe { Pair::of(driver, [(x_layout, x), (y_layout, y)], [alpha, beta])? };
        check_pooling(&pooling, &pair.x.dims, &pair.y.dims)?;
        pair.submit(driver, handle, move |device, tensors, factors| pool(device, &pooling, tensors, factors))
    })
}

/// Whether the sizes are those of `cudnnGetPoolingNdForwardOutputDim`. A window must not lie in the padding alone.
fn check_pooling(pooling: &Pooling, x: &[usize], y: &[usize]) -> Result<(), Code> {
    let Pooling { window, steps, .. } = pooling;
    if x.len() != window.len() + 2 || x[..2] != *y.get(..2).ok_or(BAD_PARAM)? {
        return Err(BAD_PARAM);
    }
    if window.iter().zip(&steps.pads).any(|(window, pad)| pad >= window) {
        return Err(NOT_SUPPORTED);
    }
    let expected = Geometry::expected(&x[2..], window, steps).ok_or(BAD_PARAM)?;
    if y[2..] == expected { Ok(()) } else { Err(BAD_PARAM) }
}

/// The bytes of the indices of a reduction.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudnnGetReductionIndicesSize(
    _handle: usize,
    reduction: usize,
    _a: usize,
    c: usize,
    bytes: *mut usize,
) -> Code {
    call("cudnnGetReductionIndicesSize", |driver| {
        let size = index_bytes(reduction_of(driver, reduction)?, &tensor_of(driver, c)?);
        // SAFETY: the caller's promise.
        unsafe { put(bytes, size) }.map_err(|_| BAD_PARAM)
    })
}

/// The workspace of a reduction, in bytes: the size of the input in floats is the order of what partial results need.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudnnGetReductionWorkspaceSize(
    _handle: usize,
    reduction: usize,
    a: usize,
    c: usize,
    bytes: *mut usize,
) -> Code {
    call("cudnnGetReductionWorkspaceSize", |driver| {
        reduction_of(driver, reduction)?;
        tensor_of(driver, c)?;
        let size = workspace_bytes(&tensor_of(driver, a)?);
        // SAFETY: the caller's promise.
        unsafe { put(bytes, size) }.map_err(|_| BAD_PARAM)
    })
}

/// `c = alpha * reduced(a) + beta * c`, and where the extremes are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudnnReduceTensor(
    handle: usize,
    reduction: usize,
    indices: u64,
    index_size: usize,
    workspace: u64,
    workspace_size: usize,
    alpha: *const c_void,
    a_layout: usize,
    a: u64,
    beta: *const c_void,
    c_layout: usize,
    c: u64,
) -> Code {
    call("cudnnReduceTensor", |driver| {
        let reduction = reduction_of(driver, reduction)?;
        let (a_layout, c_layout) = ((a_layout, tensor_of(driver, a_layout)?), (c_layout, tensor_of(driver, c_layout)?));
        let (a_dims, c_dims) = (&a_layout.1.dims, &c_layout.1.dims);
        let fit = a_dims.len() == c_dims.len() && a_dims.iter().zip(c_dims).all(|(a, c)| *c == 1 || a == c);
        let index_bytes = index_bytes(reduction, &c_layout.1);
        let used = workspace_bytes(&a_layout.1);
        let has_room =
            workspace != 0 && workspace_size >= used && (index_bytes == 0 || indices != 0 && index_size >= index_bytes);
        if !fit || !has_room {
            return Err(BAD_PARAM);
        }
        // SAFETY: the caller's promise.
        let mut pair = unsafe { Pair::of(driver, [(a_layout.0, a), (c_layout.0, c)], [alpha, beta])? };
        (pair.x.name, pair.y.name) = ("A", "C");
        let indices = (index_bytes > 0).then_some(indices);
        let mut accesses = vec![(a, false), (c, true), (workspace, true)];
        accesses.extend(indices.map(|indices| (indices, true)));
        submit(driver, handle, accesses, move |device| {
            use_workspace(device, (workspace, used as u64))?;
            reduce(device, reduction, [&pair.x, &pair.y], indices, pair.factors)
        })
    })
}

fn reduction_of(driver: &Driver, handle: usize) -> Result<Reduction, Code> {
    match driver.dnn_descriptions.get(handle) {
        Some(Description::Reduction(Some(reduction))) => Ok(*reduction),
        _ => Err(BAD_PARAM),
    }
}

/// Only extremes have indices.
fn index_bytes(reduction: Reduction, c: &Layout) -> usize {
    let has_places = reduction.with_indices && matches!(reduction.operation, 2..=4);
    if has_places { 4 * c.count() } else { 0 }
}

fn workspace_bytes(a: &Layout) -> usize {
    4 * a.count()
}
