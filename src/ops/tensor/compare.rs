//! Comparisons of every pair of elements, with tensors and with numbers; `where_cond`.

use candle_core::op::CmpOp;
use ndarray::ArrayD;

use crate::case::Case;
use crate::generate::Draw;
use crate::number::Num;
use crate::ops::support::reference_inputs::pairs;
use crate::ops::tensor::binary::{STANDARD, arguments, broadcasts, right, scalar, shape, with_scalar};
use crate::ops::{Contract, Op, ReferenceInputs, why};
use crate::tensor::{DType, Support};

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
    generate: comparison_generate,
    contract: comparison_contract,
    call: |call| Ok(vec![match scalar(call.case) {
                Some(scalar) => call.tensor("lhs")?.$method(scalar)?,
                None => {
                    let (lhs, rhs) = arguments(call)?;
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
                "({{ scalar|default('0.0') if form == 'scalar' else '&rhs' }})?{% endif %}"
            ),
    torch: concat!("torch.", stringify!($method), "(lhs, {{ scalar|default('0.0') if form == 'scalar' else 'rhs' }})"),
    reference: Some(|inputs| holds(inputs, $holds)),
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
pub const COMPARISON_PROMISE: &str = "candle-core/src/tensor.rs:1125-1177 (the documentation of each); IEEE 754 of NaN; a number is compared with \
              integers as the number that it is";

fn comparison_generate(draw: &mut Draw) -> arbitrary::Result<Case> {
    let mut case = with_scalar(draw, &[0.0, 1.0, 2.0, 0.5, 2.5, -1.0])?;
    // Equal values are where the six differ.
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

fn comparison_contract(case: &Case) -> Contract {
    match shape(case) {
        Ok(_) if scalar(case).is_some_and(|scalar| !compares(case, scalar)) => {
            Contract::Unspecified("a number that the dtype rounds")
        }
        Ok(shape) => Contract::accepts(DType::U8, &shape),
        Err(contract) => contract,
    }
}

/// `cond.where_cond(on_true, on_false)`: the element of `on_true` where `cond` is not 0, else that of `on_false`.
pub static WHERE_COND: Op = Op {
    name: "tensor.where_cond",
    covers: &["Tensor::where_cond"],
    support: &Support { of: "on_true", cpu: &DType::ALL, cuda: &DType::STANDARD },
    generate: |draw| {
        let dtype = draw.dtype(WHERE_COND.support)?;
        let shape = draw.any_shape()?;
        let cond_dtype = *draw.choose(&[DType::U8, DType::U8, DType::U32, DType::I64, DType::I32, DType::I16])?;
        let mut case = Case::default()
            .input("cond", draw.ids(cond_dtype, &shape, 2)?)
            .input("on_true", draw.tensor(dtype, &shape)?)
            .input("on_false", draw.tensor(dtype, &shape)?);
        case.backward = draw.backward()?;
        Ok(case)
    },
    contract: |case| {
        let (Some(cond), Some(yes), Some(no)) = (case.tensor("cond"), case.tensor("on_true"), case.tensor("on_false"))
        else {
            return Contract::Rejects(why::SHAPES);
        };
        if cond.shape != yes.shape || cond.shape != no.shape {
            return Contract::Rejects(why::SHAPES);
        }
        if yes.dtype != no.dtype {
            return Contract::Rejects(why::MIXED);
        }
        Contract::accepts(yes.dtype, &yes.shape).may_refuse(!DType::IDS.contains(&cond.dtype), why::DTYPE)
    },
    call: |call| {
        let (cond, on_true) = (call.tensor("cond")?, call.tensor("on_true")?);
        Ok(vec![cond.where_cond(on_true, call.tensor("on_false")?)?])
    },
    source: "cond.where_cond(&on_true, &on_false)?",
    torch: "torch.where(cond != 0, on_true, on_false)",
    reference: Some(|inputs| {
        let (cond, yes, no) = (inputs.array("cond"), inputs.array("on_true"), inputs.array("on_false"));
        let picked =
            cond.iter().zip(yes.iter().zip(&no)).map(|(cond, (&yes, &no))| if cond.value == 0.0 { no } else { yes });
        vec![ArrayD::from_shape_vec(yes.raw_dim(), picked.collect()).expect("one value per condition")]
    }),
    ulps: 4.0,
    differentiable: &["on_false", "on_true"],
    promise: "candle-core/src/tensor.rs:1590-1606 (its documentation); torch.where",
};

/// 1 where `holds`, else 0.
fn holds(inputs: &ReferenceInputs, holds: impl Fn(f64, f64) -> bool) -> Vec<ArrayD<Num>> {
    pairs(&inputs.array("lhs"), &right(inputs), |a, b| Num::exact(if holds(a.value, b.value) { 1.0 } else { 0.0 }))
}

/// Whether comparing the dtype of `lhs` with this number needs no rounding.
fn compares(case: &Case, scalar: f64) -> bool {
    let dtype = case.tensor("lhs").map_or(DType::F32, |lhs| lhs.dtype);
    scalar.is_finite() && (if dtype.is_float() { dtype.round(scalar) == scalar } else { scalar.abs() <= 1e6 })
}
