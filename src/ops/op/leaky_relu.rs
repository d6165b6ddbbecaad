//! `leaky_relu`.

use candle_nn::ops;

use crate::case::ParamSpec;
use crate::ops::Op;
use crate::ops::support::arguments::ANY;
use crate::ops::support::dtypes::FLOATS_AND_F8;
use crate::ops::support::elements::activation::{leaky_relu, unspecified_constant};
use crate::ops::support::elements::elementwise::{case, of_floats};
use crate::ops::support::reference_inputs::each;

/// `candle_nn::ops::leaky_relu(x, negative_slope)`: `x` above 0, else `negative_slope x`.
pub static LEAKY_RELU: Op = Op {
    name: "op.leaky_relu",
    covers: &["ops::leaky_relu"],
    support: FLOATS_AND_F8,
    inputs: &[ANY],
    params: &[ParamSpec::float("negative_slope", 0.0, "The slope below 0.")],
    generate: &|draw| {
        let slope = *draw.choose(&[0.25, 0.5, 0.01, 0.0, 1.0, -1.0])?;
        Ok(case(draw, FLOATS_AND_F8)?.param("negative_slope", slope))
    },
    contract: &|case| unspecified_constant(case, "negative_slope").unwrap_or_else(|| of_floats(case)),
    call: &|call| Ok(vec![ops::leaky_relu(call.tensor("x")?, call.case.float("negative_slope"))?]),
    source: "candle_nn::ops::leaky_relu(&x, {{ negative_slope }})?",
    torch: "F.leaky_relu(x, {{ negative_slope }})",
    reference: Some(&|inputs| each(inputs, "x", |x| leaky_relu(x, inputs.case.float("negative_slope")))),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-nn/src/ops.rs:193-196; torch.nn.LeakyReLU",
};
