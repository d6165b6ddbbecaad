//! cuDNN: convolutions and their gradients.

use super::algorithms::{BACKWARD_DATA, BACKWARD_FILTER, FORWARD, method};
use super::problems::{Handles, Method, Problem};
use super::{BAD_PARAM, NOT_SUPPORTED, at, factors, submit, tensor_of, use_workspace};
use crate::objects::codes::Code;
use crate::objects::driver::Driver;
use crate::objects::libraries::dnn::Description;
use crate::objects::libraries::dnn::convolution::{Epilogue, Operands};
use crate::objects::libraries::element::{Element, Numbers};
use crate::objects::process::call;
use half::f16;
use std::ffi::c_void;

/// The addresses of the operands, and the workspace with its bytes.
#[derive(Clone, Copy)]
struct Addresses {
    x: u64,
    w: u64,
    y: u64,
    workspace: (u64, usize),
}

/// A convolution whose arguments are consistent.
struct Checked {
    operands: Operands,
    /// The bytes that are used, and where.
    workspace: (u64, u64),
    element: Element,
    sums: Numbers,
}

impl Checked {
    fn of(driver: &Driver, handles: Handles, to: Addresses, method: Method) -> Result<Self, Code> {
        let problem = Problem::of(driver, handles)?;
        let wanted = problem.workspace(method)?;
        if wanted > 0 && (to.workspace.0 == 0 || to.workspace.1 < wanted) {
            return Err(BAD_PARAM);
        }
        let Problem { x, w, y, geometry, groups, element, sums } = problem;
        let (x, w, y) = (at("x", to.x, x)?, at("w", to.w, w)?, at("y", to.y, y)?);
        let operands = Operands { x, w, y, geometry, groups };
        Ok(Self { operands, workspace: (to.workspace.0, wanted as u64), element, sums })
    }

    /// What is accessed; the results are those with these addresses.
    fn accesses(&self, wrote: u64) -> Vec<(u64, bool)> {
        let Operands { x, w, y, .. } = &self.operands;
        let operands = [x, w, y].map(|tensor| (tensor.address, tensor.address == wrote));
        let workspace = (self.workspace.1 > 0).then_some((self.workspace.0, true));
        operands.into_iter().chain(workspace).collect()
    }
}

/// `y = alpha * (x over w) + beta * y`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudnnConvolutionForward(
    handle: usize,
    alpha: *const c_void,
    x_layout: usize,
    x: u64,
    w_layout: usize,
    w: u64,
    convolution: usize,
    algorithm: u32,
    workspace: u64,
    workspace_bytes: usize,
    beta: *const c_void,
    y_layout: usize,
    y: u64,
) -> Code {
    call("cudnnConvolutionForward", |driver| {
        let handles = Handles { x: x_layout, w: w_layout, convolution, y: y_layout };
        let to = Addresses { x, w, y, workspace: (workspace, workspace_bytes) };
        let checked = Checked::of(driver, handles, to, method(FORWARD, algorithm)?)?;
        // SAFETY: the caller's promise.
        let factors = unsafe { factors(checked.element, [alpha, beta])? };
        let accesses = checked.accesses(y);
        submit(driver, handle, accesses, move |device| {
            use_workspace(device, checked.workspace)?;
            match checked.sums {
                Numbers::F16 => checked.operands.forward(device, factors.map(f16::from_f64)),
                Numbers::F32 => checked.operands.forward(device, factors.map(|factor| factor as f32)),
                Numbers::F64 => checked.operands.forward(device, factors),
            }
        })
    })
}

/// The gradient of the input: `dx = alpha * (dy over w, backwards) + beta * dx`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudnnConvolutionBackwardData(
    handle: usize,
    alpha: *const c_void,
    w_layout: usize,
    w: u64,
    dy_layout: usize,
    dy: u64,
    convolution: usize,
    algorithm: u32,
    workspace: u64,
    workspace_bytes: usize,
    beta: *const c_void,
    dx_layout: usize,
    dx: u64,
) -> Code {
    call("cudnnConvolutionBackwardData", |driver| {
        let handles = Handles { x: dx_layout, w: w_layout, convolution, y: dy_layout };
        let to = Addresses { x: dx, w, y: dy, workspace: (workspace, workspace_bytes) };
        let mut checked = Checked::of(driver, handles, to, method(BACKWARD_DATA, algorithm)?)?;
        (checked.operands.x.name, checked.operands.y.name) = ("dx", "dy");
        // SAFETY: the caller's promise.
        let factors = unsafe { factors(checked.element, [alpha, beta])? };
        let accesses = checked.accesses(dx);
        submit(driver, handle, accesses, move |device| {
            use_workspace(device, checked.workspace)?;
            match checked.sums {
                Numbers::F16 => checked.operands.backward_data(device, factors.map(f16::from_f64)),
                Numbers::F32 => checked.operands.backward_data(device, factors.map(|factor| factor as f32)),
                Numbers::F64 => checked.operands.backward_data(device, factors),
            }
        })
    })
}

/// The gradient of the filter: `dw = alpha * (x times dy) + beta * dw`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudnnConvolutionBackwardFilter(
    handle: usize,
    alpha: *const c_void,
    x_layout: usize,
    x: u64,
    dy_layout: usize,
    dy: u64,
    convolution: usize,
    algorithm: u32,
    workspace: u64,
    workspace_bytes: usize,
    beta: *const c_void,
    dw_layout: usize,
    dw: u64,
) -> Code {
    call("cudnnConvolutionBackwardFilter", |driver| {
        let handles = Handles { x: x_layout, w: dw_layout, convolution, y: dy_layout };
        let to = Addresses { x, w: dw, y: dy, workspace: (workspace, workspace_bytes) };
        let mut checked = Checked::of(driver, handles, to, method(BACKWARD_FILTER, algorithm)?)?;
        (checked.operands.w.name, checked.operands.y.name) = ("dw", "dy");
        // SAFETY: the caller's promise.
        let factors = unsafe { factors(checked.element, [alpha, beta])? };
        let accesses = checked.accesses(dw);
        submit(driver, handle, accesses, move |device| {
            use_workspace(device, checked.workspace)?;
            match checked.sums {
                Numbers::F16 => checked.operands.backward_filter(device, factors.map(f16::from_f64)),
                Numbers::F32 => checked.operands.backward_filter(device, factors.map(|factor| factor as f32)),
                Numbers::F64 => checked.operands.backward_filter(device, factors),
            }
        })
    })
}

/// `y = activation(alpha1 * (x over w) + alpha2 * z + bias)`. The activation is the rectifier or the identity.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudnnConvolutionBiasActivationForward(
    handle: usize,
    alpha1: *const c_void,
    x_layout: usize,
    x: u64,
    w_layout: usize,
    w: u64,
    convolution: usize,
    algorithm: u32,
    workspace: u64,
    workspace_bytes: usize,
    alpha2: *const c_void,
    z_layout: usize,
    z: u64,
    bias_layout: usize,
    bias: u64,
    activation: usize,
    y_layout: usize,
    y: u64,
) -> Code {
    call("cudnnConvolutionBiasActivationForward", |driver| {
        let handles = Handles { x: x_layout, w: w_layout, convolution, y: y_layout };
        let to = Addresses { x, w, y, workspace: (workspace, workspace_bytes) };
        let checked = Checked::of(driver, handles, to, method(FORWARD, algorithm)?)?;
        let activation = match driver.dnn_descriptions.get(activation) {
            Some(Description::Activation(Some(activation))) => *activation,
            _ => return Err(BAD_PARAM),
        };
        let is_precomputed = method(FORWARD, algorithm)? == Method::Precomputed;
        if !(activation.mode == 1 || activation.mode == 5 && is_precomputed) {
            return Err(NOT_SUPPORTED);
        }
        let (z, bias) = (at("z", z, tensor_of(driver, z_layout)?)?, at("bias", bias, tensor_of(driver, bias_layout)?)?);
        let y_dims = &checked.operands.y.dims;
        if z.dims != *y_dims || bias.dims.get(1) != y_dims.get(1) || bias.count() != y_dims[1] {
            return Err(BAD_PARAM);
        }
        // SAFETY: the caller's promise.
        let [alpha, factor] = unsafe { factors(checked.element, [alpha1, alpha2])? };
        let mut accesses = checked.accesses(y);
        accesses.extend([(z.address, z.address == y), (bias.address, false)]);
        submit(driver, handle, accesses, move |device| {
            use_workspace(device, checked.workspace)?;
            let (operands, z, bias) = (&checked.operands, z.clone(), bias.clone());
            match checked.sums {
                Numbers::F16 => {
                    let (alpha, factor) = (f16::from_f64(alpha), f16::from_f64(factor));
                    operands.forward_with(device, alpha, &Epilogue { z, factor, bias, activation })
                }
                Numbers::F32 => {
                    let (alpha, factor) = (alpha as f32, factor as f32);
                    operands.forward_with(device, alpha, &Epilogue { z, factor, bias, activation })
                }
                Numbers::F64 => operands.forward_with(device, alpha, &Epilogue { z, factor, bias, activation }),
            }
        })
    })
}
