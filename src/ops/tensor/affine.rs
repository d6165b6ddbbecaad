//! `x mul + add`.

use crate::case::ParamSpec;
use crate::number::Num;
use crate::ops::support::arguments::ANY;
use crate::ops::support::elements::elementwise::{
    AFFINE_DTYPES, CONSTANTS, case, evened, has_a_value, is_float, takes_number, without_overflow,
};
use crate::ops::support::reference_inputs::each;
use crate::ops::{Contract, Op};
use crate::tensor::DType;

/// `x.affine(mul, add)`: `x mul + add`. The constants are cast to the dtype first, as documented.
pub static AFFINE: Op = Op {
    name: "tensor.affine",
    covers: &["Tensor::affine"],
    support: AFFINE_DTYPES,
    inputs: &[ANY],
    params: &[ParamSpec::float("add", 0.0, "The summand."), ParamSpec::float("mul", 1.0, "The factor.")],
    generate: &|draw| {
        let case = evened(case(draw, AFFINE_DTYPES)?);
        let choices: &[f64] = match case.tensor("x").map(|x| x.dtype) {
            // The last one does not fit into 32 bits.
            Some(DType::I64) => &[0.0, 1.0, 2.0, 4_294_967_299.0],
            _ if is_float(&case) => &CONSTANTS,
            _ => &[0.0, 1.0, 2.0],
        };
        let (mul, add) = (*draw.choose(choices)?, *draw.choose(choices)?);
        Ok(case.param("mul", mul).param("add", add))
    },
    contract: &|case| {
        let (mul, add) = (case.float("mul"), case.float("add"));
        let is_kept = |value: f64| value.fract() == 0.0 && takes_number(case, "x", value);
        match case.tensor("x") {
            Some(x) if !(x.dtype.is_float() || is_kept(mul) && is_kept(add)) => {
                Contract::Unspecified("a constant that changes when it is cast")
            }
            _ if is_float(case) && !(has_a_value(case, mul) && has_a_value(case, add)) => {
                Contract::Unspecified("an extraordinary constant")
            }
            _ => without_overflow(case, |x| {
                let result = x * mul as i128 + add as i128;
                // The reference counts in f64.
                if result.abs() <= 1 << 53 { result } else { i128::MAX }
            }),
        }
    },
    call: &|call| Ok(vec![call.tensor("x")?.affine(call.case.float("mul"), call.case.float("add"))?]),
    source: "x.affine({{ mul }}, {{ add }})?",
    torch: "x * {{ mul|of(inputs.x.name) }} + {{ add|of(inputs.x.name) }}",
    reference: Some(&|inputs| {
        each(inputs, "x", |x| {
            let constant = |name| Num::constant(inputs.case.float(name), x.unit);
            x * constant("mul") + constant("add")
        })
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-core/src/tensor.rs:776-796: the constants are cast to the dtype; x * mul + add in torch",
};
