//! cuBLAS: handles, and what all products share.

pub mod pointer_arrays;
pub mod products;
pub mod settings;
pub mod status_names;
pub mod vectors;

use crate::api::put;
use crate::objects::codes::Code;
use crate::objects::driver::Driver;
use crate::objects::libraries::blas::Blas;
use crate::objects::libraries::element::{Element, Real};
use crate::objects::libraries::gemm::{Matrix, Output, Shape, multiply};
use crate::objects::process::call;
use crate::objects::reports::report;
use crate::objects::streams::happens_before::Key;
use crate::objects::streams::per_thread::resolved;
use device_record::{Detail, Fault};
use half::{bf16, f16};
use simulator::Device;
use std::ffi::{c_int, c_longlong, c_void};

pub(super) const NOT_INITIALIZED: Code = 1;
pub(super) const INVALID_VALUE: Code = 7;
pub(super) const EXECUTION_FAILED: Code = 13;
pub(super) const NOT_SUPPORTED: Code = 15;

// Values of `cudaDataType_t` and `cublasComputeType_t`.
const F32: u32 = 0;
const F64: u32 = 1;
const F16: u32 = 2;
const COMPUTE_F16: u32 = 64;
const COMPUTE_F32: u32 = 68;
const COMPUTE_F64: u32 = 70;

/// Makes a handle for the current context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cublasCreate_v2(handle: *mut usize) -> Code {
    call("cublasCreate_v2", |driver| {
        let context = driver.current().map_err(|_| NOT_INITIALIZED)?;
        driver.context(context).and_then(|context| context.check()).map_err(|_| NOT_INITIALIZED)?;
        // SAFETY: the caller's promise.
        unsafe { put(handle, driver.blas.insert(Blas { context, stream: 0, factors_on_device: false, math_mode: 0 })) }
            .map_err(|_| INVALID_VALUE)
    })
}

/// The pointer mode of a handle: 0 for factors and results on the host, 1 for those on the device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cublasGetPointerMode_v2(handle: usize, mode: *mut u32) -> Code {
    call("cublasGetPointerMode_v2", |driver| {
        let on_device = driver.blas.get(handle).ok_or(NOT_INITIALIZED)?.factors_on_device;
        // SAFETY: the caller's promise.
        unsafe { put(mode, u32::from(on_device)) }.map_err(|_| INVALID_VALUE)
    })
}

/// Sets it.
#[unsafe(no_mangle)]
pub extern "C" fn cublasSetPointerMode_v2(handle: usize, mode: u32) -> Code {
    call("cublasSetPointerMode_v2", |driver| {
        let blas = driver.blas.get_mut(handle).ok_or(NOT_INITIALIZED)?;
        blas.factors_on_device = match mode {
            0 | 1 => mode == 1,
            _ => return Err(INVALID_VALUE),
        };
        Ok(())
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
pub(super) struct Arguments {
    pub(super) operations: [u32; 2],
    /// m, n, k and the size of the batch.
    pub(super) sizes: [c_int; 4],
    /// The address, type, leading dimension and stride of each matrix.
    pub(super) matrices: [(u64, u32, c_int, c_longlong); 3],
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

/// Reports what the simulator cannot do, and refuses it.
pub(super) fn refuse<T>(what: impl Into<Detail>) -> Result<T, Code> {
    report::unsupported(what);
    Err(NOT_SUPPORTED)
}

/// Multiplies matrices of a shape on a device.
type Product = Box<dyn FnMut(&mut Device, Shape, &[Matrix; 3], &Output) -> Result<(), Fault> + Send>;

/// Runs a product in the stream of a handle. Its fault comes late, as a kernel's does.
///
/// # Safety
/// That of [`product_in`].
unsafe fn run(
    driver: &mut Driver,
    handle: usize,
    name: &'static str,
    arguments: &Arguments,
    compute: u32,
    factors: [*const c_void; 2],
) -> Result<(), Code> {
    let &Blas { context, stream, factors_on_device, .. } = driver.blas.get(handle).ok_or(NOT_INITIALIZED)?;
    if factors_on_device {
        return refuse("factors of cuBLAS on the device");
    }
    // SAFETY: the caller's promise.
    unsafe { submit(driver, (context, resolved(stream)), name, arguments, Output::default(), compute, factors) }
}

/// Submits a product to a stream, in the type of computation `compute`.
///
/// # Safety
/// That of [`product_in`].
pub(super) unsafe fn submit(
    driver: &mut Driver,
    (context, stream): Key,
    name: &'static str,
    arguments: &Arguments,
    output: Output,
    compute: u32,
    factors: [*const c_void; 2],
) -> Result<(), Code> {
    let (shape, matrices) = arguments.checked()?;
    let is_working = driver.checked(context).map_err(|_| EXECUTION_FAILED)?.working().is_some();
    if !is_working || shape.m == 0 || shape.n == 0 || shape.batch == 0 {
        return Ok(());
    }
    // SAFETY: the caller's promise.
    let mut multiply = unsafe { product_in(compute, factors, &matrices)? };
    let [a, b, c] = matrices.each_ref().map(|matrix| matrix.address);
    let to = output.matrix.as_ref().map_or(c, |matrix| matrix.address);
    let read = [a, b, c].into_iter().chain(output.bias.as_ref().map(|bias| bias.address));
    let accesses = read.map(|address| (address, false)).chain([(to, true)]).collect();
    let work = move |device: &mut Device| multiply(device, shape, &matrices, &output);
    driver.submit_library((context, stream), name, accesses, work).map_err(|_| EXECUTION_FAILED)
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

/// Whether tensor cores can load these matrices of floats, 16 bytes at a time. Else the type of computation allows them and the
/// product is computed without.
fn are_aligned(matrices: &[Matrix; 3]) -> bool {
    matrices.iter().all(|matrix| matrix.address.is_multiple_of(16) && matrix.leading.is_multiple_of(4))
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
    match compute {
        COMPUTE_F16 | 65 => [a, b, c] == [Element::F16; 3],
        COMPUTE_F32 | 69 | 74 | 75 | 77 => {
            let is_single = c == Element::F32 && a != Element::F64;
            a == b && (is_single || a == c && matches!(a, Element::F16 | Element::Bf16))
        }
        COMPUTE_F64 | 71 => [a, b, c] == [Element::F64; 3],
        _ => false,
    }
}

/// A product in the type of computation `compute`, which also says the type of the factors.
///
/// # Safety
/// The factors are null or valid for a read of one number of that type.
unsafe fn gemm(
    name: &'static str,
    handle: usize,
    arguments: &Arguments,
    compute: u32,
    factors: [*const c_void; 2],
) -> Code {
    // SAFETY: the caller's promise.
    call(name, |driver| unsafe { run(driver, handle, name, arguments, compute, factors) })
}

/// The product of these matrices in the type of computation `compute`, which also says the type of the factors.
///
/// # Safety
/// The factors are null or valid for a read of one number of that type.
unsafe fn product_in(compute: u32, [alpha, beta]: [*const c_void; 2], matrices: &[Matrix; 3]) -> Result<Product, Code> {
    let elements = matrices.each_ref().map(|matrix| matrix.element);
    if !takes(compute, elements) {
        let [a, b, c] = elements;
        return refuse(format!("cuBLAS compute type {compute} with types {a:?}, {b:?}, {c:?}"));
    }
    // SAFETY: the caller's promise.
    unsafe {
        Ok(match compute {
            COMPUTE_F16 | 65 => product(factors::<f16>(alpha, beta)?.map(f16::to_f32), exact, to_half),
            COMPUTE_F64 | 71 => product(factors::<f64>(alpha, beta)?, exact, exact),
            74 => product(factors::<f32>(alpha, beta)?, to_half, exact),
            75 => product(factors::<f32>(alpha, beta)?, to_brain, exact),
            77 if are_aligned(matrices) => product(factors::<f32>(alpha, beta)?, tf32, exact),
            _ => product(factors::<f32>(alpha, beta)?, exact, exact),
        })
    }
}

/// The product with these factors, whose operands and sums are rounded like this.
fn product<T: Real + Send + 'static>(
    factors: [T; 2],
    operand: impl Fn(T) -> T + Copy + Send + 'static,
    sum: impl Fn(T) -> T + Copy + Send + 'static,
) -> Product {
    Box::new(move |device, shape, matrices, output| multiply(device, shape, matrices, output, factors, operand, sum))
}
