//! Table: comparisons of two tensors, element by element, or of a tensor and a number.

use candle_core::op::CmpOp;
use ndarray::ArrayD;

use crate::case::{Case, InputSpec, ParamSpec};
use crate::generate::Draw;
use crate::number::Num;
use crate::ops::support::elements::elementwise::takes_number;
use crate::ops::support::elements::operands::{
    STANDARD, broadcasts, operands, output_shape, scalar, sides, with_scalar,
};
use crate::ops::support::reducing::reductions::ANY_VALUE;
use crate::ops::support::reference_inputs::pairs;
use crate::ops::{Contract, Op, ReferenceInputs};
use crate::tensor::DType;

macro_rules! comparisons {
    ($($(#[$doc:meta])* $name:ident = $method:ident, $broadcast:ident, $variant:ident, $holds:expr;)*) => {$(
        $(#[$doc])*
        pub static $name: Op = Op {
            name: concat!("tensor.", stringify!($method)),
            covers: &[
                concat!("Tensor::", stringify!($method)),
                concat!("Tensor::", stringify!($broadcast)),
                "Tensor::cmp",
            ],
            support: STANDARD,
            inputs: &[InputSpec::new("lhs", "of any shape"), InputSpec::new("rhs", "of any shape, unless it is a number").unless("form", "scalar")],
            params: &[ParamSpec::word("form", &["", "broadcast", "cmp", "scalar"], "The method."), ParamSpec::float("scalar", 0.0, "The number on the right side.").when("form", "scalar")],
            generate: &generate,
            contract: &contract,
            call: &|call| Ok(vec![match scalar(call.case) {
                Some(scalar) => call.tensor("lhs")?.$method(scalar)?,
                None => {
                    let (lhs, rhs) = operands(call)?;
                    match call.case.text("form") {
                        "cmp" => lhs.cmp(rhs, CmpOp::$variant)?,
                        _ if broadcasts(call.case) => lhs.$broadcast(rhs)?,
                        _ => lhs.$method(rhs)?,
                    }
                }
            }]),
            source: concat!(
                "{% if form == 'cmp' %}lhs.cmp(&rhs, candle_core::op::CmpOp::", stringify!($variant), ")?{% else %}",
                "lhs.{{ 'broadcast_' if form == 'broadcast' else '' }}", stringify!($method),
                "({{ scalar if form == 'scalar' else '&rhs' }})?{% endif %}"
            ),
            torch: concat!(
                "torch.", stringify!($method),
                "(lhs, {{ scalar if form == 'scalar' else 'rhs' }})"
            ),
            reference: Some(&|inputs| holds(inputs, $holds)),
            ulps: 4.0,
            differentiable: &[],
            promise: COMPARISON_PROMISE,
        };
    )*};
}

comparisons! {
    /// 1 where `lhs == rhs`, else 0.
    EQ = eq, broadcast_eq, Eq, |a, b| a == b;
    /// 1 where `lhs != rhs`.
    NE = ne, broadcast_ne, Ne, |a, b| a != b;
    /// 1 where `lhs < rhs`.
    LT = lt, broadcast_lt, Lt, |a, b| a < b;
    /// 1 where `lhs <= rhs`.
    LE = le, broadcast_le, Le, |a, b| a <= b;
    /// 1 where `lhs > rhs`.
    GT = gt, broadcast_gt, Gt, |a, b| a > b;
    /// 1 where `lhs >= rhs`.
    GE = ge, broadcast_ge, Ge, |a, b| a >= b;
}

/// Where the contract of these ops comes from.
pub const COMPARISON_PROMISE: &str = "candle-core/src/tensor.rs:1125-1177 (the documentation of each); IEEE 754 of \
    NaN; torch.eq and its siblings: comparing integers with a number does not round the number";

fn generate(draw: &mut Draw) -> arbitrary::Result<Case> {
    let mut case = with_scalar(draw, &[0.0, 1.0, 2.0, 0.5, 2.5, -1.0, 0.1])?;
    // The six functions differ for equal values.
    if let (Some(lhs), Some(rhs)) = (case.inputs.get("lhs").cloned(), case.inputs.get_mut("rhs"))
        && rhs.shape == lhs.shape
        && draw.one_in(4)?
    {
        *rhs = lhs;
    }
    if case.text("form").is_empty() && draw.one_in(4)? {
        case = case.param("form", "cmp");
    }
    Ok(case)
}

fn contract(case: &Case) -> Contract {
    match output_shape(case) {
        Ok(_) if scalar(case).is_some_and(|scalar| !is_comparable(case, scalar)) => {
            Contract::Unspecified("a number that changes when it is cast")
        }
        Ok(shape) => Contract::accepts(DType::U8, &shape),
        Err(contract) => contract,
    }
}

/// 1 where `holds`, else 0: open for integers that `f64` does not tell apart.
fn holds(inputs: &ReferenceInputs, holds: impl Fn(f64, f64) -> bool) -> Vec<ArrayD<Num>> {
    let (lhs, rhs) = sides(inputs);
    pairs(&lhs, &rhs, |a, b| {
        let is_unclear = a.indeterminate || b.indeterminate || a.error + b.error > 0.0 && a.may_equal(&b);
        if is_unclear { ANY_VALUE } else { Num::exact(if holds(a.value, b.value) { 1.0 } else { 0.0 }) }
    })
}

/// Whether comparing `lhs` with this number is defined: floats round it first, integers do not.
fn is_comparable(case: &Case, scalar: f64) -> bool {
    let is_float = case.tensor("lhs").is_none_or(|lhs| lhs.dtype.is_float());
    takes_number(case, "lhs", scalar) || !is_float && scalar.abs() <= 1e6
}
