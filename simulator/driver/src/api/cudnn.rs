//! cuDNN: handles, and what all of its functions share.
//!
//! The classic interface of cuDNN 9, as far as bindings of Rust call it: convolutions with their gradients, activations, softmax, pooling and
//! reductions. Comments cite the sections of NVIDIA's "cuDNN Backend API" by the function's name, and the comments of its headers.

pub mod algorithms;
pub mod convolutions;
pub mod descriptors;
pub mod operations;
pub mod pointwise;
pub mod problems;
pub mod status_names;

use crate::api::put;
use crate::objects::codes::Code;
use crate::objects::driver::Driver;
use crate::objects::libraries::dnn::tensor::{Tensor, buffer};
use crate::objects::libraries::dnn::{Description, Handle, Layout};
use crate::objects::libraries::element::Element;
use crate::objects::process::call;
use crate::objects::reports::report;
use crate::objects::streams::per_thread::resolved;
use simulator::{Device, Fault};
use std::ffi::c_void;

// Values of `cudnnStatus_t`.
const NOT_INITIALIZED: Code = 1001;
const BAD_PARAM: Code = 2000;
const NOT_SUPPORTED: Code = 3000;
const EXECUTION_FAILED: Code = 5000;

/// Makes a handle for the current context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudnnCreate(handle: *mut usize) -> Code {
    call("cudnnCreate", |driver| {
        let context = driver.current().map_err(|_| NOT_INITIALIZED)?;
        driver.context(context).and_then(|context| context.check()).map_err(|_| NOT_INITIALIZED)?;
        // SAFETY: the caller's promise.
        unsafe { put(handle, driver.dnn.insert(Handle { context, stream: 0 })) }.map_err(|_| BAD_PARAM)
    })
}

/// Destroys a handle. Succeeds in a dead context too, as bindings would panic otherwise.
#[unsafe(no_mangle)]
pub extern "C" fn cudnnDestroy(handle: usize) -> Code {
    call("cudnnDestroy", |driver| driver.dnn.remove(handle).map(drop).ok_or(BAD_PARAM))
}

/// Sets the stream of a handle, which must be in the handle's context.
#[unsafe(no_mangle)]
pub extern "C" fn cudnnSetStream(handle: usize, stream: usize) -> Code {
    call("cudnnSetStream", |driver| {
        let context = driver.dnn.get(handle).ok_or(BAD_PARAM)?.context;
        // The default streams belong to the handle's context, whichever is current.
        if stream > 2 && driver.stream_context(stream) != Ok(context) {
            return Err(BAD_PARAM);
        }
        driver.dnn.get_mut(handle).ok_or(BAD_PARAM)?.stream = stream;
        Ok(())
    })
}

/// The stream of a handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudnnGetStream(handle: usize, stream: *mut usize) -> Code {
    call("cudnnGetStream", |driver| {
        let found = driver.dnn.get(handle).ok_or(BAD_PARAM)?.stream;
        // SAFETY: the caller's promise.
        unsafe { put(stream, found) }.map_err(|_| BAD_PARAM)
    })
}

/// The version, as `CUDNN_VERSION` has it: 9.21.0, the last whose functions cudarc names.
#[unsafe(no_mangle)]
pub extern "C" fn cudnnGetVersion() -> usize {
    92_100
}

/// The version of CUDA, as `CUDART_VERSION` has it: that of the compiler.
#[unsafe(no_mangle)]
pub extern "C" fn cudnnGetCudartVersion() -> usize {
    13_000
}

/// Whether the parts of the library have the same version, which they have.
#[unsafe(no_mangle)]
pub extern "C" fn cudnnOpsVersionCheck() -> Code {
    call("cudnnOpsVersionCheck", |_| Ok(()))
}

/// As [`cudnnOpsVersionCheck`].
#[unsafe(no_mangle)]
pub extern "C" fn cudnnCnnVersionCheck() -> Code {
    call("cudnnCnnVersionCheck", |_| Ok(()))
}

/// As [`cudnnOpsVersionCheck`].
#[unsafe(no_mangle)]
pub extern "C" fn cudnnAdvVersionCheck() -> Code {
    call("cudnnAdvVersionCheck", |_| Ok(()))
}

/// The layout of a tensor's descriptor that is set.
fn tensor_of(driver: &Driver, handle: usize) -> Result<Layout, Code> {
    match driver.dnn_descriptions.get(handle) {
        Some(Description::Tensor(Some(layout))) => Ok(layout.clone()),
        _ => Err(BAD_PARAM),
    }
}

/// A tensor at an address, which must not be null.
fn at(name: &'static str, address: u64, layout: Layout) -> Result<Tensor, Code> {
    if address == 0 {
        return Err(BAD_PARAM);
    }
    let Some(element) = layout.element() else {
        return refuse(&format!("tensors of cuDNN's data type {}", layout.data_type));
    };
    if layout.strides.iter().any(|&stride| stride < 0) {
        return Err(NOT_SUPPORTED);
    }
    Ok(Tensor { name, address, element, dims: layout.dims, strides: layout.strides, place: Vec::new() })
}

/// The factors of results with these elements: doubles for doubles, else floats ("Scaling Parameters" in NVIDIA's guide).
///
/// # Safety
/// Both are null or valid for a read of one such number.
unsafe fn factors(element: Element, factors: [*const c_void; 2]) -> Result<[f64; 2], Code> {
    if factors.iter().any(|factor| factor.is_null()) {
        return Err(BAD_PARAM);
    }
    // SAFETY: not null, and hence valid.
    Ok(factors.map(|factor| unsafe {
        if element == Element::F64 {
            factor.cast::<f64>().read_unaligned()
        } else {
            factor.cast::<f32>().read_unaligned().into()
        }
    }))
}

/// Submits the work of the function that the program is in to the stream of a handle. Each access is the address of something that is
/// read, or written if the flag is set.
fn submit(
    driver: &mut Driver,
    handle: usize,
    accesses: Vec<(u64, bool)>,
    work: impl FnMut(&mut Device) -> Result<(), Fault> + Send + 'static,
) -> Result<(), Code> {
    let &Handle { context, stream } = driver.dnn.get(handle).ok_or(BAD_PARAM)?;
    if driver.checked(context).map_err(|_| EXECUTION_FAILED)?.working().is_none() {
        return Ok(());
    }
    let name = driver.calling;
    driver.submit_library((context, resolved(stream)), name, accesses, work).map_err(|_| EXECUTION_FAILED)
}

/// Writes the workspace. What is in it afterwards is nobody's business.
fn use_workspace(device: &mut Device, (address, bytes): (u64, u64)) -> Result<(), Fault> {
    if bytes > 0 {
        buffer(device, "the workspace", address, bytes)?;
        device.make_undefined(address, bytes);
    }
    Ok(())
}

/// Refuses what cuDNN does and the simulator does not.
fn refuse<T>(what: &str) -> Result<T, Code> {
    report::unsupported(what);
    Err(NOT_SUPPORTED)
}
