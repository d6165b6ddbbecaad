//! `selu`.

use candle_nn::ops;

use crate::case::{Case, ParamSpec};
use crate::number::Num;
use crate::ops::Op;
use crate::ops::support::arguments::ANY;
use crate::ops::support::elements::activation::unspecified_constant;
use crate::ops::support::elements::elementwise::elu;
use crate::ops::support::elements::elementwise::{case, of_floats};
use crate::ops::support::reference_inputs::each;
use crate::tensor::{DType, Support};

/// `candle_nn::ops::selu(x, alpha, gamma)`: `gamma x` above 0, else `gamma alpha (e^x - 1)`.
pub static SELU: Op = Op {
    name: "op.selu",
    covers: &["ops::selu"],
    support: &Support::both("x", &[DType::F32]),
    inputs: &[ANY],
    params: &[
        ParamSpec::float("alpha", 1.0, "The factor of the exponential."),
        ParamSpec::float("gamma", 1.0, "The factor of the result."),
    ],
    generate: &|draw| {
        let (alpha, gamma) =
            *draw.choose(&[(1.673_263_242_354_377, 1.050_700_987_355_480_5), (1.0, 1.0), (2.0, 0.5)])?;
        Ok(case(draw, SELU.support)?.param("alpha", alpha).param("gamma", gamma))
    },
    contract: &|case| {
        unspecified_constant(case, "alpha")
            .or_else(|| unspecified_constant(case, "gamma"))
            .unwrap_or_else(|| of_floats(case))
    },
    call: &|call| Ok(vec![ops::selu(call.tensor("x")?, single(call.case, "alpha"), single(call.case, "gamma"))?]),
    source: "candle_nn::ops::selu(&x, {{ alpha|f32 }}, {{ gamma|f32 }})?",
    torch: "{{ gamma }} * F.elu(x, {{ alpha }})",
    reference: Some(&|inputs| {
        let (alpha, gamma) = (single(inputs.case, "alpha"), single(inputs.case, "gamma"));
        each(inputs, "x", |x| elu(x, f64::from(alpha)) * Num::exact(f64::from(gamma)))
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-nn/src/ops.rs:198-206; torch.nn.SELU, and ONNX Selu, which has both factors",
};

/// A param as candle takes it.
fn single(case: &Case, name: &str) -> f32 {
    case.float(name) as f32
}
