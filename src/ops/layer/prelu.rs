//! The layer `PReLU`.

use candle_core::Module;

use crate::case::{Case, InputSpec, ParamSpec};
use crate::number::Num;
use crate::ops::support::dtypes::FLOATS_AND_F8;
use crate::ops::support::elements::elementwise::of_floats;
use crate::ops::support::reference_inputs::pairs;
use crate::ops::{Contract, Op, rule};

/// `PReLU::new(weight, is_scalar)` of `x`: `x` above 0, else `weight x`, with a weight for all, or one per entry of the
/// second dimension.
pub static PRELU: Op = Op {
    name: "layer.prelu",
    covers: &["PReLU", "PReLU::new"],
    support: FLOATS_AND_F8,
    inputs: &[InputSpec::new("x", "(N, C, ..)"), InputSpec::new("weight", "(C), or one element")],
    params: &[ParamSpec::flag("is_scalar", false, "Use one weight for all elements.")],
    generate: &|draw| {
        let dtype = draw.dtype(FLOATS_AND_F8)?;
        let shape = draw.shape(2, 3)?;
        let scalar = draw.one_in(2)?;
        let weight = draw.tensor(dtype, &[if scalar { 1 } else { shape[1] }])?;
        let mut case = Case::default().input("x", draw.tensor(dtype, &shape)?).input("weight", weight);
        case.backward = draw.backward()?;
        Ok(case.param("is_scalar", i64::from(scalar)))
    },
    contract: &contract,
    call: &|call| {
        let layer = candle_nn::PReLU::new(call.tensor("weight")?.clone(), is_scalar(call.case));
        Ok(vec![layer.forward(call.tensor("x")?)?])
    },
    source: "candle_nn::PReLU::new(weight, {{ is_scalar != 0 }}).forward(&x)?",
    torch: "F.prelu(x, weight)",
    reference: Some(&|inputs| {
        let (x, weight) = (inputs.array("x"), inputs.array("weight"));
        let mut shape = vec![1; x.ndim()];
        // The channels of a vector are its elements.
        if let Some(channels) = shape.iter_mut().take(2).last() {
            *channels = weight.len();
        }
        let weight = weight.into_shape_with_order(shape).expect("one weight, or one per channel");
        pairs(&x, &weight, prelu)
    }),
    ulps: 4.0,
    differentiable: &["weight", "x"],
    promise: "candle-nn/src/activation.rs:54-107: `x` is \"one dimension with this number of channels\", or has them as its second one; \n              torch.nn.PReLU, of a vector or a matrix",
};

fn contract(case: &Case) -> Contract {
    let (Some(x), Some(weight)) = (case.tensor("x"), case.tensor("weight")) else {
        return Contract::Rejects(&rule::SHAPES);
    };
    if x.dtype != weight.dtype {
        let empty = x.shape.contains(&0);
        return if empty { Contract::Unspecified(rule::MIXED.id) } else { Contract::Rejects(&rule::MIXED) };
    }
    if weight.values.listed().iter().any(|value| !value.as_f64().is_finite()) {
        return Contract::Unspecified("a weight that is not finite");
    }
    let by_channel = !is_scalar(case);
    if weight.shape.len() > 1 {
        let one = Contract::Unspecified("one weight of several dimensions");
        return if by_channel { Contract::Rejects(&rule::RANK) } else { one };
    }
    // candle documents a vector as one value per channel, PyTorch as one channel.
    let fits = match (weight.elements(), x.shape.as_slice()) {
        (Some(1), &([] | [_])) => true,
        (Some(weights), &[channels] | &[_, channels, ..]) if by_channel => weights == channels,
        (weights, _) => weights == Some(1) && !by_channel,
    };
    if fits { of_floats(case) } else { Contract::Rejects(&rule::SHAPES) }
}

fn prelu(x: Num, weight: Num) -> Num {
    if x.value > 0.0 { x + Num::exact(0.0) } else { Num { kink: x.value == 0.0, ..x * weight } }
}

/// Whether one weight is for all elements.
fn is_scalar(case: &Case) -> bool {
    case.int("is_scalar") != 0
}
