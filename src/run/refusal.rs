//! The variants of candle's errors. `candle_core::Error` prints its message even in `Debug`, and a signature needs the variant.

use candle_core::Error;

use crate::outcome::Refusal;

/// The innermost error, without backtrace and context.
pub fn refusal(error: &Error) -> Refusal {
    let mut inner = error;
    while let Error::WithBacktrace { inner: next, .. } | Error::Context { inner: next, .. } = inner {
        inner = next;
    }
    Refusal { variant: variant(inner).to_string(), message: inner.to_string() }
}

/// A CUDA error in words, derived from its code, and candle's message. The words become the kind of a violation.
pub fn cuda_error(error: &Error) -> (String, String) {
    let message = error.to_string();
    let code = message.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).find(|word| word.starts_with(CODE));
    let kind = match code.map(|code| &code[CODE.len()..]) {
        Some("ASSERT") => "assert".to_string(),
        Some("LAUNCH_TIMEOUT") => "hang".to_string(),
        Some(name) => name.to_lowercase().replace('_', " "),
        None => "device error".to_string(),
    };
    (kind, message)
}

const CODE: &str = "CUDA_ERROR_";

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
        WrappedContext Msg
    }
}
