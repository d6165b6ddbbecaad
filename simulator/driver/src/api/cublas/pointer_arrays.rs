//! cuBLAS: products whose matrices are named by arrays of pointers in device memory.

use std::ffi::{c_int, c_void};
use std::slice;

use super::{
    Arguments, COMPUTE_F16, COMPUTE_F32, COMPUTE_F64, EXECUTION_FAILED, F32, F64, INVALID_VALUE, NOT_INITIALIZED,
    NOT_SUPPORTED, run,
};
use crate::objects::blas::Blas;
use crate::objects::codes::Code;
use crate::objects::process::call;
use crate::objects::report;
use crate::objects::state::Driver;

/// Products of one shape: the operations and the shape, and for each matrix its array, type and leading dimension.
struct Group {
    operations: [u32; 2],
    /// m, n and k.
    sizes: [c_int; 3],
    matrices: [(u64, u32, c_int); 3],
    /// How many products there are.
    count: c_int,
    factors: [*const c_void; 2],
}

/// Runs the products of a group, one after the other.
///
/// # Safety
/// The factors are null or valid for a read of one number of the type that `compute` says.
unsafe fn run_group(
    driver: &mut Driver,
    handle: usize,
    name: &'static str,
    group: &Group,
    compute: u32,
) -> Result<(), Code> {
    let count = usize::try_from(group.count).map_err(|_| INVALID_VALUE)?;
    let &Blas { context, stream, .. } = driver.blas.get(handle).ok_or(NOT_INITIALIZED)?;
    if driver.capture_of((context, stream)).is_some() {
        report::unsupported("a capture of products whose matrices are named by pointers");
        return Err(NOT_SUPPORTED);
    }
    driver.await_stream((context, stream))?;
    let [a, b, c] = group.matrices;
    let mut read = |(array, ..): (u64, u32, c_int)| pointers(driver, name, context, array, count);
    let (all_a, all_b, all_c) = (read(a)?, read(b)?, read(c)?);
    let [m, n, k] = group.sizes;
    for ((&at_a, &at_b), &at_c) in all_a.iter().zip(&all_b).zip(&all_c) {
        let matrices = [(at_a, a.1, a.2, 0), (at_b, b.1, b.2, 0), (at_c, c.1, c.2, 0)];
        let arguments = Arguments { operations: group.operations, sizes: [m, n, k, 1], matrices };
        // SAFETY: the caller's promise.
        unsafe { run(driver, handle, name, &arguments, compute, group.factors)? };
    }
    Ok(())
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

/// Multiplies a batch of matrices, in one of several precisions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cublasGemmBatchedEx(
    handle: usize,
    operation_a: u32,
    operation_b: u32,
    m: c_int,
    n: c_int,
    k: c_int,
    alpha: *const c_void,
    a: u64,
    type_a: u32,
    leading_a: c_int,
    b: u64,
    type_b: u32,
    leading_b: c_int,
    beta: *const c_void,
    c: u64,
    type_c: u32,
    leading_c: c_int,
    count: c_int,
    compute: u32,
    _algorithm: c_int,
) -> Code {
    let group = Group {
        operations: [operation_a, operation_b],
        sizes: [m, n, k],
        matrices: [(a, type_a, leading_a), (b, type_b, leading_b), (c, type_c, leading_c)],
        count,
        factors: [alpha, beta],
    };
    // SAFETY: the caller's promise.
    call("cublasGemmBatchedEx", |driver| unsafe { run_group(driver, handle, "cublasGemmBatchedEx", &group, compute) })
}

/// Multiplies a batch of matrices of floats.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cublasSgemmBatched(
    handle: usize,
    operation_a: u32,
    operation_b: u32,
    m: c_int,
    n: c_int,
    k: c_int,
    alpha: *const c_void,
    a: u64,
    leading_a: c_int,
    b: u64,
    leading_b: c_int,
    beta: *const c_void,
    c: u64,
    leading_c: c_int,
    count: c_int,
) -> Code {
    let group = Group {
        operations: [operation_a, operation_b],
        sizes: [m, n, k],
        matrices: [(a, F32, leading_a), (b, F32, leading_b), (c, F32, leading_c)],
        count,
        factors: [alpha, beta],
    };
    // SAFETY: the caller's promise.
    call("cublasSgemmBatched", |driver| unsafe { run_group(driver, handle, "cublasSgemmBatched", &group, COMPUTE_F32) })
}

/// Multiplies a batch of matrices of doubles.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cublasDgemmBatched(
    handle: usize,
    operation_a: u32,
    operation_b: u32,
    m: c_int,
    n: c_int,
    k: c_int,
    alpha: *const c_void,
    a: u64,
    leading_a: c_int,
    b: u64,
    leading_b: c_int,
    beta: *const c_void,
    c: u64,
    leading_c: c_int,
    count: c_int,
) -> Code {
    let group = Group {
        operations: [operation_a, operation_b],
        sizes: [m, n, k],
        matrices: [(a, F64, leading_a), (b, F64, leading_b), (c, F64, leading_c)],
        count,
        factors: [alpha, beta],
    };
    // SAFETY: the caller's promise.
    call("cublasDgemmBatched", |driver| unsafe { run_group(driver, handle, "cublasDgemmBatched", &group, COMPUTE_F64) })
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
            let run = Group {
                operations: operations.map(|operations| operations[group]),
                sizes: sizes_of.map(|sizes| sizes[group]),
                matrices: [(at(a), type_a, leading[0]), (at(b), type_b, leading[1]), (at(c), type_c, leading[2])],
                count: counts[group],
                factors: [alphas, betas].map(|factors| factors.wrapping_byte_add(group * factor)),
            };
            // SAFETY: the caller's promise: there are as many factors as groups.
            unsafe { run_group(driver, handle, "cublasGemmGroupedBatchedEx", &run, compute)? };
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
