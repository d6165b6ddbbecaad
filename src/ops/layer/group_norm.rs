//! The layer `GroupNorm`.

use candle_core::Module;
use ndarray::{ArrayD, IxDyn};

use crate::case::{Case, InputSpec, ParamSpec};
use crate::number::Num;
use crate::ops::support::arguments::EPS;
use crate::ops::support::dtypes::FLOATS_AND_F8;
use crate::ops::support::reducing::norm::{epsilon, standardized, unspecified_arguments, with_eps};
use crate::ops::{Contract, Op, ReferenceInputs, rule};
use crate::tensor::product;

/// `GroupNorm::new(weight (C), bias (C), C, groups, eps)` of `x (N, C, ..)`: each group of channels standardized.
pub static GROUP_NORM: Op = Op {
    name: "layer.group_norm",
    covers: &["GroupNorm", "GroupNorm::new"],
    support: FLOATS_AND_F8,
    inputs: &[InputSpec::new("x", "(N, C, ..)"), InputSpec::new("weight", "(C)"), InputSpec::new("bias", "(C)")],
    params: &[
        ParamSpec::size("channels", 1, "The number of channels."),
        EPS,
        ParamSpec::size("groups", 1, "The number of groups."),
    ],
    generate: &|draw| {
        let dtype = draw.dtype(FLOATS_AND_F8)?;
        let groups = *draw.choose(&[1, 1, 2, 3])?;
        let channels = groups * draw.between(1, 3)?;
        let mut shape = draw.shape(0, 2)?;
        shape.push(draw.reduced()?);
        // The channels are not drawn within the budget.
        if product(&shape).is_none_or(|count| count > 1 << 13) {
            shape = vec![1 << 10];
        }
        shape.splice(0..0, [draw.between(1, 4)?, channels]);
        let mut case = Case::default().input("x", draw.tensor(dtype, &shape)?);
        for weight in ["bias", "weight"] {
            case = case.input(weight, draw.tensor(dtype, &[channels])?);
        }
        case.backward = draw.backward()?;
        let case = case.param("groups", groups).param("channels", channels);
        with_eps(draw, case, dtype)
    },
    contract: &contract,
    call: &|call| {
        let (channels, groups, eps) = (call.size("channels"), call.size("groups"), call.case.float("eps"));
        let (weight, bias) = (call.tensor("weight")?.clone(), call.tensor("bias")?.clone());
        let layer = candle_nn::GroupNorm::new(weight, bias, channels, groups, eps)?;
        Ok(vec![layer.forward(call.tensor("x")?)?])
    },
    source: r"
        candle_nn::GroupNorm::new(weight, bias, {{ channels }}, {{ groups }}, {{ eps }})?.forward(&x)?
    ",
    torch: "F.group_norm(x, {{ groups }}, weight, bias, {{ eps }})",
    reference: Some(&grouped),
    ulps: 8.0,
    differentiable: &["bias", "weight", "x"],
    promise: "candle-nn/src/group_norm.rs:20-80; torch.nn.GroupNorm, whose input is (N, C, *): two dimensions or more",
};

fn contract(case: &Case) -> Contract {
    let (Some(x), Some(weight), Some(bias)) = (case.tensor("x"), case.tensor("weight"), case.tensor("bias")) else {
        return Contract::Rejects(&rule::SHAPES);
    };
    if !x.dtype.is_float() {
        return Contract::Rejects(&rule::NORM);
    }
    let (channels, groups) = (case.size("channels"), case.size("groups"));
    if groups == 0 || channels % groups != 0 {
        return Contract::Rejects(&rule::GROUPS);
    }
    if x.shape.len() < 2 {
        return Contract::Rejects(&rule::RANK);
    }
    if x.shape[1] != channels || [weight, bias].iter().any(|t| t.elements() != Some(channels)) {
        return Contract::Rejects(&rule::SHAPES);
    }
    if weight.dtype != x.dtype || bias.dtype != x.dtype {
        return Contract::mixed(x);
    }
    if x.shape[1..].contains(&0) {
        return Contract::Unspecified("the norm of an empty tensor");
    }
    if weight.shape.len() != 1 || bias.shape.len() != 1 {
        return Contract::Unspecified("weights of a different shape");
    }
    unspecified_arguments(case, x.dtype).unwrap_or_else(|| Contract::accepts(x.dtype, &x.shape))
}

fn grouped(inputs: &ReferenceInputs) -> Vec<ArrayD<Num>> {
    let (x, weight, bias) = (inputs.array("x"), inputs.array("weight"), inputs.array("bias"));
    if x.is_empty() {
        return vec![x];
    }
    let (channels, inner) = (x.shape()[1], product(&x.shape()[2..]).unwrap_or(1));
    let groups = inputs.case.size("groups");
    let mut values: Vec<Num> = x.iter().copied().collect();
    for group in values.chunks_mut(channels / groups * inner) {
        let standard = Num::fused(group, |group| standardized(group, epsilon(inputs.case), true));
        group.copy_from_slice(&standard);
    }
    for (position, value) in values.iter_mut().enumerate() {
        let channel = position / inner % channels;
        *value = *value * weight[[channel]] + bias[[channel]];
    }
    vec![ArrayD::from_shape_vec(IxDyn(x.shape()), values).expect("as many as before")]
}
