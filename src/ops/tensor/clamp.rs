//! Values between two numbers.

use crate::case::ParamSpec;
use crate::number::Num;
use crate::ops::support::arguments::ANY;
use crate::ops::support::elements::elementwise::{case, elementwise, is_float, takes_number};
use crate::ops::support::reference_inputs::each;
use crate::ops::{Contract, Op};
use crate::tensor::{DType, Support};

/// `x.clamp(min, max)` with numbers.
pub static CLAMP: Op = Op {
    name: "tensor.clamp",
    covers: &["Tensor::clamp"],
    support: CLAMP_DTYPES,
    inputs: &[ANY],
    params: &[ParamSpec::float("max", 1.0, "The upper bound."), ParamSpec::float("min", 0.0, "The lower bound.")],
    generate: &|draw| {
        let (min, max) = *draw.choose(&[(0.0, 1.0), (-1.0, 1.0), (0.1, 0.9), (0.5, 6.0), (1.0, 1.0)])?;
        let case = case(draw, CLAMP_DTYPES)?;
        let whole = |value: f64| if is_float(&case) { value } else { value.max(0.0).trunc() };
        let (min, max) = (whole(min), whole(max));
        Ok(case.param("min", min).param("max", max))
    },
    contract: &|case| {
        let bounds = ["min", "max"].map(|name| case.float(name));
        if bounds.into_iter().all(|bound| takes_number(case, "x", bound)) {
            elementwise(case)
        } else {
            Contract::Unspecified("a bound that changes when it is cast")
        }
    },
    call: &|call| Ok(vec![call.tensor("x")?.clamp(call.case.float("min"), call.case.float("max"))?]),
    source: "x.clamp({{ min }}, {{ max }})?",
    torch: "x.clamp({{ min|of(inputs.x.name) }}, {{ max|of(inputs.x.name) }})",
    reference: Some(&|inputs| {
        let bound = |name, unit| Num::argument(inputs.case.float(name), unit);
        each(inputs, "x", |x| x.max(bound("min", x.unit)).min(bound("max", x.unit)))
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-core/src/tensor.rs:1179-1182; torch.clamp, also where min is above max; NaN passes through",
};

/// The dtypes of the kernels for `maximum` and `minimum`.
const CLAMP_DTYPES: &Support = &Support { of: "x", cpu: &DType::ALL, cuda: &DType::STANDARD };
