//! cuBLAS: the products that candle calls.

pub mod status_names;

use crate::api::put;
use crate::objects::blas::Blas;
use crate::objects::codes::Code;
use crate::objects::device_time;
use crate::objects::gemm::{Element, Matrix, Real, Shape, multiply};
use crate::objects::process::call;
use crate::objects::report;
use crate::objects::state::Driver;
use crate::objects::trace;
use half::{bf16, f16};
use simulator::{Device, Fault, jitter};
use std::ffi::{c_int, c_longlong, c_void};

const NOT_INITIALIZED: Code = 1;
const INVALID_VALUE: Code = 7;
const EXECUTION_FAILED: Code = 13;
const NOT_SUPPORTED: Code = 15;

/// Makes a handle for the current context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cublasCreate_v2(handle: *mut usize) -> Code {
    call("cublasCreate_v2", |driver| {
        let context = driver.current().map_err(|_| NOT_INITIALIZED)?;
        driver.context(context).and_then(|context| context.check()).map_err(|_| NOT_INITIALIZED)?;
        // SAFETY: the caller's promise.
        unsafe { put(handle, driver.blas.insert(Blas { context, stream: 0 })) }.map_err(|_| INVALID_VALUE)
    })
}

/// Destroys a handle. Succeeds in a dead context too, as candle's bindings would panic otherwise.
#[unsafe(no_mangle)]
pub extern "C" fn cublasDestroy_v2(handle: usize) -> Code {
    call("cublasDestroy_v2", |driver| driver.blas.remove(handle).map(drop).ok_or(NOT_INITIALIZED))
}

/// Sets the stream of a handle, which must be in the handle's context.
#[unsafe(no_mangle)]
pub extern "C" fn cublasSetStream_v2(handle: usize, stream: usize) -> Code {
    call("cublasSetStream_v2", |driver| {
        let context = driver.blas.get(handle).ok_or(NOT_INITIALIZED)?.context;
        // The default streams belong to the handle's context, whichever is current.
        if stream > 2 && driver.stream_context(stream) != Ok(context) {
            return Err(INVALID_VALUE);
        }
        driver.blas.get_mut(handle).ok_or(NOT_INITIALIZED)?.stream = stream;
        Ok(())
    })
}

/// The arguments of a product, without the factors.
struct Arguments {
    operations: [u32; 2],
    /// m, n, k and the size of the batch.
    sizes: [c_int; 4],
    matrices: [(u64, u32, c_int, c_longlong); 3],
}

impl Arguments {
    /// The shape and the matrices, if the arguments are consistent.
    fn checked(&self) -> Result<(Shape, [Matrix; 3]), Code> {
        let size = |n: c_int| usize::try_from(n).map_err(|_| INVALID_VALUE);
        let [m, n, k, batch] = self.sizes;
        let shape = Shape { m: size(m)?, n: size(n)?, k: size(k)?, batch: size(batch)? };
        if self.operations.iter().any(|&operation| operation > 2) {
            return Err(INVALID_VALUE);
        }
        let [left, right] = self.operations.map(|operation| operation != 0);
        let rows = [if left { k } else { m }, if right { n } else { k }, m];
        let mut matrices = [(); 3].map(|()| None);
        for (at, &(address, data_type, leading, stride)) in self.matrices.iter().enumerate() {
            if leading < rows[at].max(1) {
                return Err(INVALID_VALUE);
            }
            let element = Element::of(data_type).ok_or(NOT_SUPPORTED)?;
            let transposed = [left, right, false][at];
            let (name, leading) = (['A', 'B', 'C'][at], leading as u64);
            matrices[at] = Some(Matrix { name, address, element, leading, stride, transposed });
        }
        Ok((shape, matrices.map(|matrix| matrix.expect("each was set"))))
    }
}

/// Runs a product on the device of a handle. Its fault comes late, as a kernel's does.
fn run(
    driver: &mut Driver,
    handle: usize,
    name: &str,
    arguments: &Arguments,
    multiply: impl FnOnce(&mut Device, Shape, &[Matrix; 3]) -> Result<Result<(), Fault>, Code>,
) -> Result<(), Code> {
    let &Blas { context: ordinal, stream } = driver.blas.get(handle).ok_or(NOT_INITIALIZED)?;
    let (shape, matrices) = arguments.checked()?;
    let context = driver.context(ordinal).map_err(|_| EXECUTION_FAILED)?;
    context.check().map_err(|_| EXECUTION_FAILED)?;
    let Some(device) = context.working() else { return Ok(()) };
    if shape.m == 0 || shape.n == 0 || shape.batch == 0 {
        return Ok(());
    }
    trace::record_library(name);
    jitter::next_launch();
    let done = device_time::during(|| multiply(device, shape, &matrices))?;
    for found in device.reports() {
        report::finding(&Fault { kernel: name.to_owned(), ..found });
    }
    done.or_else(|fault| driver.fault(ordinal, &Fault { kernel: name.to_owned(), ..fault }))
        .map_err(|_| EXECUTION_FAILED)?;
    let [a, b, c] = matrices.map(|matrix| matrix.address);
    let touched = [(a, false), (b, false), (c, true)].map(|(address, wrote)| driver.allocation_at(address, wrote));
    driver.record_work((ordinal, stream), &touched.into_iter().flatten().collect::<Vec<_>>(), name);
    Ok(())
}

/// Reads the factors, which have the type of the sums.
///
/// # Safety
/// Both are null or valid for a read of one `T`.
unsafe fn factors<T: Copy>(alpha: *const c_void, beta: *const c_void) -> Result<[T; 2], Code> {
    if alpha.is_null() || beta.is_null() {
        return Err(INVALID_VALUE);
    }
    // SAFETY: not null, and hence valid.
    unsafe { Ok([alpha.cast::<T>().read_unaligned(), beta.cast::<T>().read_unaligned()]) }
}

/// Truncates to the 10 bits of mantissa that tensor cores use of an `f32`.
fn tf32(x: f32) -> f32 {
    if x.is_finite() { f32::from_bits(x.to_bits() & !0x1fff) } else { x }
}

fn to_half(x: f32) -> f32 {
    f16::from_f32(x).to_f32()
}

fn to_brain(x: f32) -> f32 {
    bf16::from_f32(x).to_f32()
}

fn exact<T: Real>(x: T) -> T {
    x
}

/// Whether a compute type supports these elements.
fn takes(compute: u32, [a, b, c]: [Element; 3]) -> bool {
    use Element::{Bf16, F16, F32, F64};
    match compute {
        64 | 65 => [a, b, c] == [F16; 3],
        68 | 69 | 74 | 75 | 77 => a == b && matches!((a, c), (F16 | Bf16 | F32, F32) | (F16, F16) | (Bf16, Bf16)),
        70 | 71 => [a, b, c] == [F64; 3],
        _ => false,
    }
}

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
    call("cublasGemmStridedBatchedEx", |driver| {
        run(driver, handle, "cublasGemmStridedBatchedEx", &arguments, |device, shape, matrices| {
            if !takes(compute, matrices.map(|matrix| matrix.element)) {
                report::unsupported(&format!("cuBLAS compute type {compute} with types {type_a}, {type_b}, {type_c}"));
                return Err(NOT_SUPPORTED);
            }
            // SAFETY: the factors have the type that the type of computation says, as the caller promises.
            unsafe {
                Ok(match compute {
                    64 | 65 => {
                        let factors = factors::<f16>(alpha, beta)?.map(f16::to_f32);
                        multiply(device, shape, matrices, factors, exact, to_half)
                    }
                    70 | 71 => multiply(device, shape, matrices, factors::<f64>(alpha, beta)?, exact, exact),
                    _ => {
                        let factors = factors::<f32>(alpha, beta)?;
                        match compute {
                            74 => multiply(device, shape, matrices, factors, to_half, exact),
                            75 => multiply(device, shape, matrices, factors, to_brain, exact),
                            77 => multiply(device, shape, matrices, factors, tf32, exact),
                            _ => multiply(device, shape, matrices, factors, exact, exact),
                        }
                    }
                })
            }
        })
    })
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
    const F64: u32 = 1;
    let arguments = Arguments {
        operations: [operation_a, operation_b],
        sizes: [m, n, k, batch],
        matrices: [(a, F64, leading_a, stride_a), (b, F64, leading_b, stride_b), (c, F64, leading_c, stride_c)],
    };
    call("cublasDgemmStridedBatched", |driver| {
        run(driver, handle, "cublasDgemmStridedBatched", &arguments, |device, shape, matrices| {
            // SAFETY: the caller's promise.
            let factors = unsafe { factors::<f64>(alpha.cast(), beta.cast())? };
            Ok(multiply(device, shape, matrices, factors, exact, exact))
        })
    })
}
