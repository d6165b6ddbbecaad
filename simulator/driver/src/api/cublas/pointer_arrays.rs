//! cuBLAS: products whose matrices are named by arrays of pointers in device memory.

use std::ffi::{c_int, c_void};
use std::slice;

use super::{Arguments, COMPUTE_F16, COMPUTE_F64, EXECUTION_FAILED, INVALID_VALUE, NOT_INITIALIZED, refuse, run};
use crate::objects::codes::Code;
use crate::objects::driver::Driver;
use crate::objects::libraries::blas::Blas;
use crate::objects::process::call;
use crate::objects::streams::per_thread::resolved;

/// Runs products of one shape, one after the other. The addresses in `arguments` are those of arrays of pointers, and the size of the
/// batch is theirs.
///
/// # Safety
/// The factors are null or valid for a read of one number of the type that `compute` says.
unsafe fn run_all(
    driver: &mut Driver,
    handle: usize,
    name: &'static str,
    arguments: &Arguments,
    compute: u32,
    factors: [*const c_void; 2],
) -> Result<(), Code> {
    let [m, n, k, count] = arguments.sizes;
    let count = usize::try_from(count).map_err(|_| INVALID_VALUE)?;
    let &Blas { context, stream, .. } = driver.blas.get(handle).ok_or(NOT_INITIALIZED)?;
    let key = (context, resolved(stream));
    if driver.capture_of(key).is_some() {
        return refuse("a capture of products whose matrices are named by pointers");
    }
    driver.await_stream(key)?;
    let mut read = |at: usize| pointers(driver, name, context, arguments.matrices[at].0, count);
    let (all_a, all_b, all_c) = (read(0)?, read(1)?, read(2)?);
    for ((&a, &b), &c) in all_a.iter().zip(&all_b).zip(&all_c) {
        let mut matrices = arguments.matrices;
        matrices.iter_mut().zip([a, b, c]).for_each(|(matrix, address)| matrix.0 = address);
        let one = Arguments { operations: arguments.operations, sizes: [m, n, k, 1], matrices };
        // SAFETY: the caller's promise.
        unsafe { run(driver, handle, name, &one, compute, factors)? };
    }
    Ok(())
}

/// Products of one shape, in the type of computation `compute`, which also says the type of the factors.
///
/// # Safety
/// The factors are null or valid for a read of one number of that type.
pub(super) unsafe fn gemm_of_pointers(
    name: &'static str,
    handle: usize,
    arguments: &Arguments,
    compute: u32,
    factors: [*const c_void; 2],
) -> Code {
    // SAFETY: the caller's promise.
    call(name, |driver| unsafe { run_all(driver, handle, name, arguments, compute, factors) })
}

/// The pointers of an array in device memory. A fault comes late, as a kernel's does.
fn pointers(
    driver: &mut Driver,
    name: &'static str,
    context: usize,
    array: u64,
    count: usize,
) -> Result<Vec<u64>, Code> {
    let device = driver.device_of(array, context).map_err(|_| EXECUTION_FAILED)?;
    match device.bytes(array, 8 * count as u64) {
        Ok(bytes) => Ok(bytes.as_chunks().0.iter().map(|&pointer| u64::from_le_bytes(pointer)).collect()),
        Err(fault) => {
            let fault = fault.in_call(name);
            driver.fault(context, &fault).map_err(|_| EXECUTION_FAILED)?;
            Err(EXECUTION_FAILED)
        }
    }
}

/// Multiplies several batches, each with a shape and factors of its own. The arrays of pointers hold all batches.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cublasGemmGroupedBatchedEx(
    handle: usize,
    operations_a: *const u32,
    operations_b: *const u32,
    m: *const c_int,
    n: *const c_int,
    k: *const c_int,
    alphas: *const c_void,
    a: u64,
    type_a: u32,
    leading_a: *const c_int,
    b: u64,
    type_b: u32,
    leading_b: *const c_int,
    betas: *const c_void,
    c: u64,
    type_c: u32,
    leading_c: *const c_int,
    groups: c_int,
    sizes: *const c_int,
    compute: u32,
) -> Code {
    call("cublasGemmGroupedBatchedEx", |driver| {
        let groups = usize::try_from(groups).map_err(|_| INVALID_VALUE)?;
        // SAFETY: the caller's promise, for each of the arrays.
        let (operations, sizes_of, leading, counts) = unsafe {
            (
                [array(operations_a, groups)?, array(operations_b, groups)?],
                [array(m, groups)?, array(n, groups)?, array(k, groups)?],
                [array(leading_a, groups)?, array(leading_b, groups)?, array(leading_c, groups)?],
                array(sizes, groups)?,
            )
        };
        let factor = match compute {
            COMPUTE_F16 | 65 => 2,
            COMPUTE_F64 | 71 => 8,
            _ => 4,
        };
        let mut before = 0;
        for group in 0..groups {
            let at = |start: u64| start.wrapping_add(8 * before);
            let leading = leading.map(|leading| leading[group]);
            let [m, n, k] = sizes_of.map(|sizes| sizes[group]);
            let arguments = Arguments {
                operations: operations.map(|operations| operations[group]),
                sizes: [m, n, k, counts[group]],
                matrices: [
                    (at(a), type_a, leading[0], 0),
                    (at(b), type_b, leading[1], 0),
                    (at(c), type_c, leading[2], 0),
                ],
            };
            let factors = [alphas, betas].map(|factors| factors.wrapping_byte_add(group * factor));
            // SAFETY: the caller's promise: there are as many factors as groups.
            unsafe { run_all(driver, handle, "cublasGemmGroupedBatchedEx", &arguments, compute, factors)? };
            before += u64::try_from(counts[group]).map_err(|_| INVALID_VALUE)?;
        }
        Ok(())
    })
}

/// An array of the host.
///
/// # Safety
/// `from` is null or valid for a read of `count` elements.
unsafe fn array<'a, T>(from: *const T, count: usize) -> Result<&'a [T], Code> {
    // SAFETY: the caller's promise.
    if from.is_null() { Err(INVALID_VALUE) } else { Ok(unsafe { slice::from_raw_parts(from, count) }) }
}
