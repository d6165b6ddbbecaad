//! cuBLAS: products of matrices, one at a time or in batches.

use std::ffi::{c_int, c_longlong, c_void};

use super::pointer_arrays::gemm_of_pointers;
use super::{Arguments, COMPUTE_F16, COMPUTE_F32, COMPUTE_F64, F16, F32, F64, gemm};
use crate::objects::codes::Code;

/// Declares products. Their arguments are the same, except for those of `any`, which say the types if the name does not, the strides from
/// one matrix of a batch to the next, and the size of the batch.
macro_rules! products {
    ($(
        $(#[$doc:meta])*
        extern "C" fn $name:ident(
            $([$element:ident; $sum:ident])? $(any $type_a:ident $type_b:ident $type_c:ident $compute:ident)?
            $(, strides $stride_a:ident $stride_b:ident $stride_c:ident)? $(, batch $batch:ident)?
        ) = $run:ident;
    )*) => {$(
        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            handle: usize,
            operation_a: u32,
            operation_b: u32,
            m: c_int,
            n: c_int,
            k: c_int,
            alpha: *const c_void,
            a: u64,
            $($type_a: u32,)?
            leading_a: c_int,
            $($stride_a: c_longlong,)?
            b: u64,
            $($type_b: u32,)?
            leading_b: c_int,
            $($stride_b: c_longlong,)?
            beta: *const c_void,
            c: u64,
            $($type_c: u32,)?
            leading_c: c_int,
            $($stride_c: c_longlong,)?
            $($batch: c_int,)?
            $($compute: u32, _algorithm: c_int,)?
        ) -> Code {
            let arguments = Arguments {
                operations: [operation_a, operation_b],
                sizes: [m, n, k, 1 $(* $batch)?],
                matrices: [
                    (a, $($element)? $($type_a)?, leading_a, 0 $(+ $stride_a)?),
                    (b, $($element)? $($type_b)?, leading_b, 0 $(+ $stride_b)?),
                    (c, $($element)? $($type_c)?, leading_c, 0 $(+ $stride_c)?),
                ],
            };
            // SAFETY: the caller's promise.
            unsafe { $run(stringify!($name), handle, &arguments, $($sum)? $($compute)?, [alpha, beta]) }
        }
    )*};
}

products! {
    /// Multiplies two matrices, in one of several precisions.
    extern "C" fn cublasGemmEx(any type_a type_b type_c compute) = gemm;
    /// Multiplies two matrices of floats.
    extern "C" fn cublasSgemm_v2([F32; COMPUTE_F32]) = gemm;
    /// Multiplies two matrices of doubles.
    extern "C" fn cublasDgemm_v2([F64; COMPUTE_F64]) = gemm;
    /// Multiplies two matrices of halves, with sums in halves.
    extern "C" fn cublasHgemm([F16; COMPUTE_F16]) = gemm;
    /// Multiplies a batch of matrices, in one of several precisions.
    extern "C" fn cublasGemmStridedBatchedEx(
        any type_a type_b type_c compute, strides stride_a stride_b stride_c, batch count
    ) = gemm;
    /// Multiplies a batch of matrices of floats.
    extern "C" fn cublasSgemmStridedBatched(
        [F32; COMPUTE_F32], strides stride_a stride_b stride_c, batch count
    ) = gemm;
    /// Multiplies a batch of matrices of doubles.
    extern "C" fn cublasDgemmStridedBatched(
        [F64; COMPUTE_F64], strides stride_a stride_b stride_c, batch count
    ) = gemm;
    /// Multiplies a batch of matrices of halves, with sums in halves.
    extern "C" fn cublasHgemmStridedBatched(
        [F16; COMPUTE_F16], strides stride_a stride_b stride_c, batch count
    ) = gemm;
    /// Multiplies a batch of matrices that arrays of pointers name, in one of several precisions.
    extern "C" fn cublasGemmBatchedEx(any type_a type_b type_c compute, batch count) = gemm_of_pointers;
    /// Multiplies a batch of matrices of floats that arrays of pointers name.
    extern "C" fn cublasSgemmBatched([F32; COMPUTE_F32], batch count) = gemm_of_pointers;
    /// Multiplies a batch of matrices of doubles that arrays of pointers name.
    extern "C" fn cublasDgemmBatched([F64; COMPUTE_F64], batch count) = gemm_of_pointers;
}
