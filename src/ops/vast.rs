//! Calls that would take too long: on a vast tensor, such as a broadcast of one element to 2^33, or very many. Those on a vast tensor run
//! that read no more of it than they return.

use super::{Contract, Op, why};
use crate::case::Case;
use crate::tensor::{MAX_ELEMENTS, Tensor, product};

/// Ops that read no more elements of an input than they return, and whose contract asks for its shape alone.
const READ_WHAT_THEY_RETURN: [&str; 21] = [
    "layer.embedding",
    "tensor.broadcast_as",
    "tensor.chunk",
    "tensor.contiguous",
    "tensor.copy",
    "tensor.embedding",
    "tensor.flatten",
    "tensor.flip",
    "tensor.force_contiguous",
    "tensor.gather",
    "tensor.get",
    "tensor.i",
    "tensor.index_select",
    "tensor.narrow",
    "tensor.permute",
    "tensor.repeat",
    "tensor.reshape",
    "tensor.roll",
    "tensor.squeeze",
    "tensor.transpose",
    "tensor.unfold",
];

/// The most calls of a case.
const MOST_CALLS: u64 = 100_000;
/// The most elements that all its calls read together, if it makes several.
const MOST_READ: u64 = 1 << 26;

/// True if `case` makes too many calls, or too many for the elements of its inputs.
pub fn calls_too_often(case: &Case) -> bool {
    let calls = case.call_count();
    let elements = || case.inputs.values().filter_map(Tensor::elements).map(|count| count as u64).sum::<u64>();
    calls > MOST_CALLS || calls > 1 && calls.saturating_mul(elements()) > MOST_READ
}

/// True if `op` reads more elements of `case` than may be listed one by one. Of a sequence its steps say that.
pub fn reads_too_many(op: &Op, case: &Case) -> bool {
    let reads_few = READ_WHAT_THEY_RETURN.contains(&op.name)
        || op.name == "tensor.metadata" && case.text("form") == "sizes"
        || !case.steps.is_empty();
    let is_led = |name: &str| op.inputs.iter().any(|spec| spec.name == name && spec.discrete);
    case.inputs.iter().any(|(name, tensor)| tensor.is_vast() && (!reads_few || is_led(name)))
}

/// `contract`, unless an input is vast, and an output or a gradient may be.
pub fn returning_few(op: &Op, case: &Case, contract: Contract) -> Contract {
    let mut vast = case.inputs.iter().filter(|(_, tensor)| tensor.is_vast()).peekable();
    let is_few = |shape: &[usize]| product(shape).is_some_and(|count| count <= MAX_ELEMENTS);
    match &contract {
        _ if vast.peek().is_none() => contract,
        Contract::Rejects(_) => contract,
        Contract::Accepts { outputs, .. }
            if outputs.iter().all(|(_, shape)| is_few(shape)) && !vast.any(|(name, _)| op.has_gradient(case, name)) =>
        {
            contract
        }
        _ => Contract::Unspecified(why::TOO_LARGE),
    }
}
