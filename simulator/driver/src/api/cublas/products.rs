//! cuBLAS: products of matrices, one at a time or in batches.

use std::ffi::{c_int, c_longlong, c_void};

use super::{Arguments, COMPUTE_F16, COMPUTE_F32, COMPUTE_F64, F16, F32, F64, gemm};
use crate::objects::codes::Code;

/// Multiplies a batch of matrices, in one of several precisions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cublasGemmStridedBatchedEx(
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
    stride_a: c_longlong,
    b: u64,
    type_b: u32,
    leading_b: c_int,
    stride_b: c_longlong,
    beta: *const c_void,
    c: u64,
    type_c: u32,
    leading_c: c_int,
    stride_c: c_longlong,
    batch: c_int,
    compute: u32,
    _algorithm: c_int,
) -> Code {
    let arguments = Arguments {
        operations: [operation_a, operation_b],
        sizes: [m, n, k, batch],
        matrices: [
            (a, type_a, leading_a, stride_a),
            (b, type_b, leading_b, stride_b),
            (c, type_c, leading_c, stride_c),
        ],
    };
    // SAFETY: the caller's promise.
    unsafe { gemm("cublasGemmStridedBatchedEx", handle, &arguments, compute, [alpha, beta]) }
}

/// Multiplies a batch of matrices of doubles.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cublasDgemmStridedBatched(
    handle: usize,
    operation_a: u32,
    operation_b: u32,
    m: c_int,
    n: c_int,
    k: c_int,
    alpha: *const f64,
    a: u64,
    leading_a: c_int,
    stride_a: c_longlong,
    b: u64,
    leading_b: c_int,
    stride_b: c_longlong,
    beta: *const f64,
    c: u64,
    leading_c: c_int,
    stride_c: c_longlong,
    batch: c_int,
) -> Code {
    let arguments = Arguments {
        operations: [operation_a, operation_b],
        sizes: [m, n, k, batch],
        matrices: [(a, F64, leading_a, stride_a), (b, F64, leading_b, stride_b), (c, F64, leading_c, stride_c)],
    };
    // SAFETY: the caller's promise.
    unsafe { gemm("cublasDgemmStridedBatched", handle, &arguments, COMPUTE_F64, [alpha.cast(), beta.cast()]) }
}

/// Multiplies two matrices, in one of several precisions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cublasGemmEx(
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
    compute: u32,
    _algorithm: c_int,
) -> Code {
    let arguments = Arguments {
        operations: [operation_a, operation_b],
        sizes: [m, n, k, 1],
        matrices: [(a, type_a, leading_a, 0), (b, type_b, leading_b, 0), (c, type_c, leading_c, 0)],
    };
    // SAFETY: the caller's promise.
    unsafe { gemm("cublasGemmEx", handle, &arguments, compute, [alpha, beta]) }
}

/// Multiplies two matrices of floats.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cublasSgemm_v2(
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
) -> Code {
    let arguments = Arguments {
        operations: [operation_a, operation_b],
        sizes: [m, n, k, 1],
        matrices: [(a, F32, leading_a, 0), (b, F32, leading_b, 0), (c, F32, leading_c, 0)],
    };
    // SAFETY: the caller's promise.
    unsafe { gemm("cublasSgemm_v2", handle, &arguments, COMPUTE_F32, [alpha, beta]) }
}

/// Multiplies two matrices of doubles.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cublasDgemm_v2(
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
) -> Code {
    let arguments = Arguments {
        operations: [operation_a, operation_b],
        sizes: [m, n, k, 1],
        matrices: [(a, F64, leading_a, 0), (b, F64, leading_b, 0), (c, F64, leading_c, 0)],
    };
    // SAFETY: the caller's promise.
    unsafe { gemm("cublasDgemm_v2", handle, &arguments, COMPUTE_F64, [alpha, beta]) }
}

/// Multiplies two matrices of halves, with sums in halves.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cublasHgemm(
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
) -> Code {
    let arguments = Arguments {
        operations: [operation_a, operation_b],
        sizes: [m, n, k, 1],
        matrices: [(a, F16, leading_a, 0), (b, F16, leading_b, 0), (c, F16, leading_c, 0)],
    };
    // SAFETY: the caller's promise.
    unsafe { gemm("cublasHgemm", handle, &arguments, COMPUTE_F16, [alpha, beta]) }
}

/// Multiplies a batch of matrices of floats.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cublasSgemmStridedBatched(
    handle: usize,
    operation_a: u32,
    operation_b: u32,
    m: c_int,
    n: c_int,
    k: c_int,
    alpha: *const c_void,
    a: u64,
    leading_a: c_int,
    stride_a: c_longlong,
    b: u64,
    leading_b: c_int,
    stride_b: c_longlong,
    beta: *const c_void,
    c: u64,
    leading_c: c_int,
    stride_c: c_longlong,
    batch: c_int,
) -> Code {
    let arguments = Arguments {
        operations: [operation_a, operation_b],
        sizes: [m, n, k, batch],
        matrices: [(a, F32, leading_a, stride_a), (b, F32, leading_b, stride_b), (c, F32, leading_c, stride_c)],
    };
    // SAFETY: the caller's promise.
    unsafe { gemm("cublasSgemmStridedBatched", handle, &arguments, COMPUTE_F32, [alpha, beta]) }
}

/// Multiplies a batch of matrices of halves, with sums in halves.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cublasHgemmStridedBatched(
    handle: usize,
    operation_a: u32,
    operation_b: u32,
    m: c_int,
    n: c_int,
    k: c_int,
    alpha: *const c_void,
    a: u64,
    leading_a: c_int,
    stride_a: c_longlong,
    b: u64,
    leading_b: c_int,
    stride_b: c_longlong,
    beta: *const c_void,
    c: u64,
    leading_c: c_int,
    stride_c: c_longlong,
    batch: c_int,
) -> Code {
    let arguments = Arguments {
        operations: [operation_a, operation_b],
        sizes: [m, n, k, batch],
        matrices: [(a, F16, leading_a, stride_a), (b, F16, leading_b, stride_b), (c, F16, leading_c, stride_c)],
    };
    // SAFETY: the caller's promise.
    unsafe { gemm("cublasHgemmStridedBatched", handle, &arguments, COMPUTE_F16, [alpha, beta]) }
}
