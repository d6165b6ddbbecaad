//! candle's errors by variant: `candle_core::Error` prints its message even in `Debug`, and a signature needs the
//! structure.

use candle_core::Error;

use crate::outcome::Refusal;

/// The innermost error without backtrace and context.
pub fn refusal(error: &Error) -> Refusal {
    let mut inner = error;
    while let Error::WithBacktrace { inner: next, .. } | Error::Context { inner: next, .. } = inner {
        inner = next;
    }
    Refusal { variant: variant(inner).to_string(), message: inner.to_string() }
}

/// The name of the error's variant; `Other` for those that no op of a device returns.
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
