//! cuBLAS: products of a matrix and a vector, and sums of absolute values.

use std::ffi::{c_int, c_void};

use device_record::Fault;

use super::{
    Arguments, COMPUTE_F32, COMPUTE_F64, EXECUTION_FAILED, F32, F64, INVALID_VALUE, NOT_INITIALIZED, gemm, refuse,
};
use crate::api::put;
use crate::objects::codes::Code;
use crate::objects::process::call;
use crate::objects::reports::trace;

/// The arguments of `y = alpha * op(A) * x + beta * y`, as those of the product of the rows x and y with the transpose of `op(A)`: a row
/// may have any distance from one element to the next.
fn of_vectors(
    operation: u32,
    [m, n]: [c_int; 2],
    (a, leading): (u64, c_int),
    [(x, step_x), (y, step_y)]: [(u64, c_int); 2],
    element: u32,
) -> Result<Arguments, Code> {
    if operation > 2 || step_x == 0 || step_y == 0 {
        return Err(INVALID_VALUE);
    }
    if step_x < 0 || step_y < 0 {
        return refuse("vectors of cuBLAS that run backwards");
    }
    let (turned, columns, inner) = if operation == 0 { (1, m, n) } else { (0, n, m) };
    Ok(Arguments {
        operations: [0, turned],
        sizes: [1, columns, inner, 1],
        matrices: [(x, element, step_x, 0), (a, element, leading, 0), (y, element, step_y, 0)],
    })
}

/// The sum of the absolute values of `n` numbers of `N` bytes, `step` numbers apart. It waits, as the result is on the host.
fn absolute_sum<const N: usize>(
    name: &'static str,
    handle: usize,
    (n, x, step): (c_int, u64, c_int),
    number: impl Fn([u8; N]) -> f64,
    mut give: impl FnMut(f64) -> Result<(), Code>,
) -> Code {
    call(name, |driver| {
        let blas = driver.blas.get(handle).ok_or(NOT_INITIALIZED)?;
        let (ordinal, stream) = (blas.context, blas.stream);
        if blas.factors_on_device {
            return refuse("a result of cuBLAS on the device");
        }
        driver.check_wait((ordinal, stream)).map_err(|_| EXECUTION_FAILED)?;
        driver.await_stream((ordinal, stream))?;
        let context = driver.context(ordinal).map_err(|_| EXECUTION_FAILED)?;
        context.synchronize().map_err(|_| EXECUTION_FAILED)?;
        let Some(device) = context.working() else { return Err(EXECUTION_FAILED) };
        trace::record_library(name);
        // The real library returns 0 for other steps.
        let mut places = if step > 0 { 0..u64::try_from(n).unwrap_or(0) } else { 0..0 };
        let sum = places.try_fold(0.0, |sum, place| -> Result<f64, Fault> {
            let address = x.wrapping_add(place * u64::from(step.unsigned_abs()) * N as u64);
            let bytes = device.bytes(address, N as u64)?;
            Ok(sum + number(bytes.try_into().expect("N bytes")).abs())
        });
        let sum = match sum {
            Ok(sum) => sum,
            Err(fault) => {
                let _ = driver.fault(ordinal, &fault.in_call(name));
                return Err(EXECUTION_FAILED);
            }
        };
        let read = driver.allocation_at(x, false);
        driver.record_work((ordinal, stream), read.as_slice(), name);
        give(sum)
    })
}

/// Declares products of a matrix and a vector: the type of the elements, and that of the sums and factors.
macro_rules! products_with_vectors {
    ($($(#[$doc:meta])* extern "C" fn $name:ident($element:ident, $compute:ident);)*) => {$(
        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            handle: usize,
            operation: u32,
            m: c_int,
            n: c_int,
            alpha: *const c_void,
            a: u64,
            leading: c_int,
            x: u64,
            step_x: c_int,
            beta: *const c_void,
            y: u64,
            step_y: c_int,
        ) -> Code {
            match of_vectors(operation, [m, n], (a, leading), [(x, step_x), (y, step_y)], $element) {
                // SAFETY: the caller's promise.
                Ok(arguments) => unsafe { gemm(stringify!($name), handle, &arguments, $compute, [alpha, beta]) },
                Err(code) => code,
            }
        }
    )*};
}

products_with_vectors! {
    /// Multiplies a matrix of floats by a vector.
    extern "C" fn cublasSgemv_v2(F32, COMPUTE_F32);
    /// Multiplies a matrix of doubles by a vector.
    extern "C" fn cublasDgemv_v2(F64, COMPUTE_F64);
}

/// The sum of the absolute values of floats.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cublasSasum_v2(handle: usize, n: c_int, x: u64, step: c_int, result: *mut f32) -> Code {
    // SAFETY: the caller's promise.
    let give = |sum| unsafe { put(result, sum as f32) }.map_err(|_| INVALID_VALUE);
    absolute_sum("cublasSasum_v2", handle, (n, x, step), |bytes| f32::from_le_bytes(bytes).into(), give)
}

/// The sum of the absolute values of doubles.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cublasDasum_v2(handle: usize, n: c_int, x: u64, step: c_int, result: *mut f64) -> Code {
    // SAFETY: the caller's promise.
    let give = |sum| unsafe { put(result, sum) }.map_err(|_| INVALID_VALUE);
    absolute_sum("cublasDasum_v2", handle, (n, x, step), f64::from_le_bytes, give)
}
