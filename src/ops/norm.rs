//! Fused normalization over the last dimension: `layer_norm` and `rms_norm`.

use candle_nn::ops;
use ndarray::{ArrayD, Axis};

use super::{Contract, Given, Op, why};
use crate::case::Case;
use crate::generate::Draw;
use crate::number::Num;
use crate::tensor::{DType, Support};

/// `candle_nn::ops::layer_norm(x, alpha, beta, eps)`: `(x - mean) / sqrt(var + eps) * alpha + beta`.
pub static LAYER_NORM: Op = Op {
    name: "op.layer_norm",
    covers: &["ops::layer_norm"],
    support: &Support { of: "x", cpu: &[DType::F32, DType::F16, DType::Bf16], cuda: &DType::FLOATS },
    generate: |draw| generate(draw, &["alpha", "beta"]),
    contract: |case| contract(case, &["alpha", "beta"]),
    call: |call| {
        let (alpha, beta) = (call.tensor("alpha")?, call.tensor("beta")?);
        Ok(vec![ops::layer_norm(call.tensor("x")?, alpha, beta, eps(call.case))?])
    },
    source: "candle_nn::ops::layer_norm(&x, &alpha, &beta, eps)?",
    reference: Some(|given| {
        let beta = given.array("beta");
        normalized(
            given,
            |row, eps| {
                let mean = Num::mean(row);
                let centered: Vec<Num> = row.iter().map(|&x| x - mean).collect();
                let squares: Vec<Num> = centered.iter().map(|&x| x * x).collect();
                let deviation = (Num::mean(&squares) + eps).sqrt();
                centered.iter().map(|&x| x / deviation).collect()
            },
            |position, value| value + beta[[position]],
        )
    }),
    differentiable: &["alpha", "beta", "x"],
    promise: "candle-nn/src/layer_norm.rs:1-29, ops.rs:674-933: the fused form of LayerNorm, whose slow path \
              (layer_norm.rs:116-137) subtracts the mean first; torch.nn.LayerNorm",
    ulps: 8.0,
};

/// `candle_nn::ops::rms_norm(x, alpha, eps)`: `x / sqrt(mean(x^2) + eps) * alpha`.
pub static RMS_NORM: Op = Op {
    name: "op.rms_norm",
    covers: &["ops::rms_norm"],
    support: &Support { of: "x", cpu: &[DType::F32, DType::F16, DType::Bf16], cuda: &DType::FLOATS },
    generate: |draw| generate(draw, &["alpha"]),
    contract: |case| contract(case, &["alpha"]),
    call: |call| Ok(vec![ops::rms_norm(call.tensor("x")?, call.tensor("alpha")?, eps(call.case))?]),
    source: "candle_nn::ops::rms_norm(&x, &alpha, eps)?",
    reference: Some(|given| {
        normalized(
            given,
            |row, eps| {
                let squares: Vec<Num> = row.iter().map(|&x| x * x).collect();
                let size = (Num::mean(&squares) + eps).sqrt();
                row.iter().map(|&x| x / size).collect()
            },
            |_, value| value,
        )
    }),
    differentiable: &["alpha", "x"],
    promise: "candle-nn/src/ops.rs:441-671: the fused form of rms_norm_slow (ops.rs:643-655); torch.nn.RMSNorm",
    ulps: 8.0,
};

fn eps(case: &Case) -> f32 {
    case.float("eps", 1e-5) as f32
}

fn generate(draw: &mut Draw, weights: &[&str]) -> arbitrary::Result<Case> {
    let dtype = draw.dtype(LAYER_NORM.support)?;
    let mut shape = draw.shape(0, 3)?;
    let hidden = draw.reduced()?;
    shape.push(hidden);
    let mut case = Case::default().input("x", draw.packed(dtype, &shape)?);
    for weight in weights {
        case = case.input(weight, draw.packed(dtype, &[hidden])?);
    }
    case.backward = draw.backward()?;
    let eps = *draw.choose(&[1e-5, 1e-5, 1e-3, 1.0])?;
    Ok(case.param("eps", eps))
}

fn contract(case: &Case, weights: &[&str]) -> Contract {
    let Some(x) = case.tensor("x") else { return Contract::Rejects(why::SHAPES) };
    let Some(&hidden) = x.shape.last() else { return Contract::Rejects(why::RANK) };
    for weight in weights {
        let Some(weight) = case.tensor(weight) else { return Contract::Rejects(why::SHAPES) };
        if weight.shape.len() != 1 {
            return Contract::Rejects(why::RANK);
        }
        if weight.shape[0] != hidden {
            return Contract::Rejects(why::SHAPES);
        }
        if weight.dtype != x.dtype {
            return Contract::Rejects(why::MIXED);
        }
    }
    if !x.dtype.is_float() {
        return Contract::Unspecified("the norm of integers");
    }
    let eps = case.float("eps", 1e-5);
    if !(1e-8..1e3).contains(&eps) {
        return Contract::Unspecified("eps is no small positive number");
    }
    Contract::accepts(x.dtype, &x.shape).may_refuse(!case.is_contiguous(), why::CONTIGUOUS)
}

/// Every row of `x` through `norm`, times `alpha`, then `shift` by position.
fn normalized(
    given: &Given,
    norm: impl Fn(&[Num], Num) -> Vec<Num>,
    shift: impl Fn(usize, Num) -> Num,
) -> Vec<ArrayD<Num>> {
    let (mut x, alpha) = (given.array("x"), given.array("alpha"));
    let eps = Num::exact(f64::from(eps(given.case)));
    if x.is_empty() {
        return vec![x];
    }
    let last = Axis(x.ndim() - 1);
    for mut lane in x.lanes_mut(last) {
        let row: Vec<Num> = lane.iter().copied().collect();
        for (position, (slot, value)) in lane.iter_mut().zip(norm(&row, eps)).enumerate() {
            *slot = shift(position, value * alpha[[position]]);
        }
    }
    vec![x]
}
