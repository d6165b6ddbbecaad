//! The variants of candle's errors. `candle_core::Error` prints its message even in `Debug`, and a signature needs the variant.

use candle_core::Error;

use crate::case::Case;
use crate::outcome::{CudaError, Refusal};
use crate::tensor::DType;

/// The innermost error, without backtrace and context.
pub fn refusal(error: &Error) -> Refusal {
    let mut innermost = error;
    while let Some(next) = inner(innermost) {
        innermost = next;
    }
    Refusal { variant: variant(innermost).to_string(), message: innermost.to_string() }
}

/// The error that this one wraps.
fn inner(error: &Error) -> Option<&Error> {
    match error {
        Error::WithBacktrace { inner, .. } => Some(inner),
        #[cfg(not(no_error_context))]
        Error::Context { inner, .. } => Some(inner),
        _ => None,
    }
}

/// The CUDA error that candle's message names, and the message.
pub fn cuda_error(error: &Error) -> (CudaError, String) {
    let message = error.to_string();
    let mut words = message.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    let code = words.find(|word| word.starts_with(CudaError::CODE));
    (code.map_or_else(|| CudaError::Other("device error".to_string()), CudaError::of_code), message)
}

/// The dtypes whose kernels candle compiles from a compute capability on: `#if __CUDA_ARCH__ >= 800` and `>= 890` around them
/// (candle-kernels 0.11.1, such as `src/unary.cu` 102 and 209, `src/binary.cu` 4, `src/indexing.cu` 310 and 328).
const SINCE: [(DType, (u32, u32)); 2] = [(DType::Bf16, (8, 0)), (DType::F8e4m3, (8, 9))];

/// Why `case` cannot run on a device of this `capability`, if candle asked its module for a kernel that is not there, and a
/// dtype of the case explains that. Any other missing kernel is candle's mistake.
pub fn lacks_kernel(message: &str, case: &Case, capability: (u32, u32)) -> Option<String> {
    if !message.contains("CUDA_ERROR_NOT_FOUND") {
        return None;
    }
    let is_missing = |(dtype, since): &(DType, _)| capability < *since && case.has_dtype(*dtype);
    let (dtype, (major, minor)) = SINCE.into_iter().find(is_missing)?;
    let (own, of_own) = capability;
    Some(format!(
        "candle has {} kernels from compute capability {major}.{minor} on, this is {own}.{of_own}",
        dtype.name()
    ))
}

/// Why cuDNN refuses `case`, if the case names an algorithm: NVIDIA's table of `cudnnConvolutionFwdAlgo_t` lists what each can do, and
/// that the direct one is not implemented.
pub fn lacks_algorithm(message: &str, case: &Case) -> Option<String> {
    let is_named = case.params.keys().any(|name| name.rsplit('.').next() == Some("algo"));
    let is_lacking = is_named && message.contains("CUDNN_STATUS_NOT_SUPPORTED");
    is_lacking.then(|| "cuDNN cannot do this with the named algorithm".to_string())
}

/// The name of the error's variant; `Other` for variants that no op returns.
fn variant(error: &Error) -> &'static str {
    macro_rules! name_of {
        ($($name:ident)*) => {
            match error {
                $(Error::$name { .. } => stringify!($name),)*
                _ => "Other",
            }
        };
    }
    name_of! {
        UnexpectedDType DTypeMismatchBinaryOp UnsupportedDTypeForOp DimOutOfRange DuplicateDimIndex
        UnexpectedNumberOfDims UnexpectedShape ShapeMismatch ShapeMismatchBinaryOp ShapeMismatchCat ShapeMismatchSplit
        OnlySingleDimension EmptyTensor DeviceMismatchBinaryOp NarrowInvalidArgs Conv1dInvalidArgs InvalidIndex
        BroadcastIncompatibleShapes MatMulUnexpectedStriding RequiresContiguous OpRequiresAtLeastOneTensor
        OpRequiresAtLeastTwoTensors BackwardNotSupported NotCompiledWithCudaSupport Cuda TryFromIntError Wrapped
        Msg
    }
}
