//! cuBLASLt: products that are described piece by piece, with a bias and an activation.

pub mod descriptions;

use self::descriptions::{destroy, make};
use std::ffi::{c_char, c_int, c_void};

use crate::api::cublas::{Arguments, EXECUTION_FAILED, INVALID_VALUE, NOT_INITIALIZED, NOT_SUPPORTED, refuse, submit};
use crate::api::put;
use crate::objects::codes::Code;
use crate::objects::driver::Driver;
use crate::objects::libraries::element::Element;
use crate::objects::libraries::gemm::{Activation, Matrix, Output};
use crate::objects::libraries::product_description::{Description, Layout, Operation};
use crate::objects::process::call;

// The epilogues, as bits.
const RELU: u32 = 2;
const BIAS: u32 = 4;
const GELU: u32 = 32;

/// Makes a handle of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cublasLtCreate(handle: *mut usize) -> Code {
    call("cublasLtCreate", |driver| {
        driver.current_context().map_err(|_| NOT_INITIALIZED)?;
        // SAFETY: the caller's promise.
        unsafe { make(driver, handle, Description::Library) }
    })
}

/// Destroys a handle of the library. Succeeds in a dead context too.
#[unsafe(no_mangle)]
pub extern "C" fn cublasLtDestroy(handle: usize) -> Code {
    call("cublasLtDestroy", |driver| destroy(driver, handle))
}

/// An algorithm that suits a product: `cublasLtMatmulHeuristicResult_t`.
#[repr(C)]
#[derive(Debug, Default, Clone, Copy)]
pub struct Choice {
    algorithm: [u64; 8],
    workspace: usize,
    state: Code,
    waves: f32,
    reserved: [c_int; 4],
}

/// Chooses the one algorithm, which needs no workspace.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cublasLtMatmulAlgoGetHeuristic(
    _handle: usize,
    operation: usize,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    _preference: usize,
    wanted: c_int,
    choices: *mut Choice,
    found: *mut c_int,
) -> Code {
    call("cublasLtMatmulAlgoGetHeuristic", |driver| {
        operation_of(driver, operation)?;
        for layout in [a, b, c, d] {
            layout_of(driver, layout)?;
        }
        if wanted < 1 {
            return Err(INVALID_VALUE);
        }
        // SAFETY: the caller's promise.
        unsafe { put(choices, Choice::default()).and_then(|()| put(found, 1)) }.map_err(|_| INVALID_VALUE)
    })
}

/// Multiplies, adds the bias and applies the activation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cublasLtMatmul(
    handle: usize,
    operation: usize,
    alpha: *const c_void,
    a: u64,
    layout_a: usize,
    b: u64,
    layout_b: usize,
    beta: *const c_void,
    c: u64,
    layout_c: usize,
    d: u64,
    layout_d: usize,
    _algorithm: *const c_void,
    _workspace: u64,
    _workspace_bytes: usize,
    stream: usize,
) -> Code {
    call("cublasLtMatmul", |driver| {
        driver.descriptions.get(handle).ok_or(NOT_INITIALIZED)?;
        let operation = operation_of(driver, operation)?;
        let [a, b, c, d] = [(a, layout_a), (b, layout_b), (c, layout_c), (d, layout_d)]
            .map(|(address, layout)| layout_of(driver, layout).map(|layout| (address, layout)));
        let [a, b, c, d] = [a?, b?, c?, d?];
        let inner = if operation.operations[0] == 0 { a.1.columns } else { a.1.rows };
        let size = |n: u64| c_int::try_from(n).map_err(|_| INVALID_VALUE);
        let matrix = |(address, Layout { data_type, leading, stride, .. }): (u64, Layout)| {
            c_int::try_from(leading).map(|leading| (address, data_type, leading, stride)).map_err(|_| INVALID_VALUE)
        };
        let arguments = Arguments {
            operations: operation.operations,
            sizes: [size(d.1.rows)?, size(d.1.columns)?, size(inner)?, d.1.batch],
            matrices: [matrix(a)?, matrix(b)?, matrix(c)?],
        };
        let output = output(&operation, d)?;
        let key = driver.key(stream).map_err(|_| EXECUTION_FAILED)?;
        // SAFETY: the caller's promise.
        unsafe { submit(driver, key, "cublasLtMatmul", &arguments, output, operation.compute, [alpha, beta]) }
    })
}

/// Where the result goes, and what is done to it.
fn output(operation: &Operation, (address, layout): (u64, Layout)) -> Result<Output, Code> {
    let leading = u64::try_from(layout.leading).ok().filter(|&leading| leading >= layout.rows).ok_or(INVALID_VALUE)?;
    let matrix = |name, address, data_type, leading, stride| {
        let element = Element::of(data_type).ok_or(NOT_SUPPORTED)?;
        Ok::<_, Code>(Matrix { name, address, element, leading, stride, transposed: false })
    };
    let (activation, with_bias) = match operation.epilogue {
        1 => (Activation::None, false),
        BIAS => (Activation::None, true),
        RELU => (Activation::Relu, false),
        GELU => (Activation::Gelu, false),
        both if both == RELU | BIAS => (Activation::Relu, true),
        both if both == GELU | BIAS => (Activation::Gelu, true),
        other => return refuse(format!("epilogue {other} of cuBLASLt")),
    };
    let bias_type = operation.bias_type.unwrap_or(layout.data_type);
    let bias = || matrix('b', operation.bias, bias_type, 0, operation.bias_stride);
    Ok(Output {
        matrix: Some(matrix('D', address, layout.data_type, leading, layout.stride)?),
        bias: with_bias.then(bias).transpose()?,
        activation,
    })
}

/// Sets how much the library logs: nothing, here.
#[unsafe(no_mangle)]
pub extern "C" fn cublasLtLoggerSetLevel(_level: c_int) -> Code {
    call("cublasLtLoggerSetLevel", |_| Ok(()))
}

/// Names the file of the log, which stays empty.
#[unsafe(no_mangle)]
pub extern "C" fn cublasLtLoggerOpenFile(_path: *const c_char) -> Code {
    call("cublasLtLoggerOpenFile", |_| Ok(()))
}

fn layout_of(driver: &Driver, handle: usize) -> Result<Layout, Code> {
    match driver.descriptions.get(handle) {
        Some(Description::Layout(layout)) => Ok(*layout),
        _ => Err(INVALID_VALUE),
    }
}

fn operation_of(driver: &Driver, handle: usize) -> Result<Operation, Code> {
    match driver.descriptions.get(handle) {
        Some(Description::Operation(operation)) => Ok(*operation),
        _ => Err(INVALID_VALUE),
    }
}
