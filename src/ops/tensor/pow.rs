//! `lhs^rhs`, element by element.

use crate::case::{InputSpec, ParamSpec};
use crate::number::Num;
use crate::ops::support::elements::operands::{broadcasts, generate, operands, output_shape};
use crate::ops::support::reference_inputs::pairs;
use crate::ops::{Contract, Op, rule};
use crate::tensor::{DType, Support};

/// `lhs^rhs`.
pub static POW: Op = Op {
    name: "tensor.pow",
    covers: &["Tensor::pow", "Tensor::broadcast_pow"],
    support: POW_SUPPORT,
    inputs: &[InputSpec::new("lhs", "of any shape"), InputSpec::new("rhs", "shaped as `lhs`, or broadcast with it")],
    params: &[ParamSpec::word("form", &["", "broadcast"], "The method, plain or broadcasting.")],
    generate: &|draw| generate(draw, POW_SUPPORT),
    contract: &|case| match case.tensor("lhs") {
        Some(lhs) if !lhs.dtype.is_float() => Contract::Rejects(&rule::FLOAT_FUNCTION),
        Some(lhs) => output_shape(case).map_or_else(|contract| contract, |shape| Contract::accepts(lhs.dtype, &shape)),
        None => Contract::Rejects(&rule::SHAPES),
    },
    call: &|call| {
        let (lhs, rhs) = operands(call)?;
        Ok(vec![if broadcasts(call.case) { lhs.broadcast_pow(rhs)? } else { lhs.pow(rhs)? }])
    },
    source: "lhs.{{ 'broadcast_' if form == 'broadcast' else '' }}pow(&rhs)?",
    torch: "lhs.pow(rhs)",
    reference: Some(&|inputs| pairs(&inputs.array("lhs"), &inputs.array("rhs"), power)),
    ulps: 4.0,
    differentiable: &["lhs", "rhs"],
    promise: "candle-core/src/tensor.rs:2933-2941: the pointwise power, as torch.pow: also of negative numbers by \
        whole exponents, and x^0 = 1",
};

/// The dtypes of the power function, which has no kernel for integers.
const POW_SUPPORT: &Support = &Support { of: "lhs", cpu: &DType::FLOATS_AND_F8, cuda: &DType::FLOATS };

/// `a^b` with the bounds of `e^(b ln a)`, which only positive numbers have.
fn power(a: Num, b: Num) -> Num {
    let documented = (b * a.ln()).exp();
    let value = a.value.powf(b.value);
    if a.value == 0.0 && b.value < 0.0 {
        return Num::unknown(); // Infinite, which not every format can be.
    }
    if b.value == 0.0 || a.value == 0.0 {
        return Num { value, kink: true, ..Num::input(value, 0.0, a.unit) };
    }
    let positive = Num { peak: a.peak.max(b.peak), ..documented };
    let whole = a.powf(b.value);
    if a.value > 0.0 {
        return Num { value, ..positive };
    }
    // The sign is apart: the error is that of the power of the size.
    let of_size = (b * (-a).ln()).exp();
    Num { kink: true, error: whole.error.max(of_size.error), ..whole }
}
