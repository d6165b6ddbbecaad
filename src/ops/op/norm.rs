//! Normalization over the last dimension: `layer_norm` and `rms_norm`, fused and slow.

use candle_nn::ops;
use ndarray::{ArrayD, Axis};

use crate::case::{Backward, Case};
use crate::generate::Draw;
use crate::number::Num;
use crate::ops::support::reductions::{gradient_of_nothing, squared};
use crate::ops::{Contract, Op, ReferenceInputs, why};
use crate::tensor::{DType, Support, Tensor};

/// `candle_nn::ops::layer_norm(x, alpha, beta, eps)`: `(x - mean) / sqrt(var + eps) * alpha + beta`.
pub static LAYER_NORM: Op = Op {
    name: "op.layer_norm",
    covers: &["ops::layer_norm"],
    support: &Support { of: "x", cpu: &[DType::F32, DType::F16, DType::Bf16], cuda: &DType::FLOATS },
    generate: |draw| generate(draw, LAYER_NORM.support, &["alpha", "beta"]),
    contract: |case| contract(case, &["alpha", "beta"]),
    call: |call| {
        let (alpha, beta) = (call.tensor("alpha")?, call.tensor("beta")?);
        Ok(vec![ops::layer_norm(call.tensor("x")?, alpha, beta, single_eps(call.case))?])
    },
    source: "candle_nn::ops::layer_norm(&x, &alpha, &beta, {{ eps|default('1e-5')|f32 }})?",
    torch: r#"F.layer_norm(x, {{ inputs.x.shape[-1:]|tuple }}, alpha, beta, {{ eps|default("1e-5") }})"#,
    reference: Some(|inputs| normalized(inputs, true, "alpha", Some("beta"))),
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
    generate: |draw| generate(draw, RMS_NORM.support, &["alpha"]),
    contract: |case| contract(case, &["alpha"]),
    call: |call| Ok(vec![ops::rms_norm(call.tensor("x")?, call.tensor("alpha")?, single_eps(call.case))?]),
    source: "candle_nn::ops::rms_norm(&x, &alpha, {{ eps|default('1e-5')|f32 }})?",
    torch: r#"F.rms_norm(x, {{ inputs.x.shape[-1:]|tuple }}, alpha, {{ eps|default("1e-5") }})"#,
    reference: Some(|inputs| normalized(inputs, false, "alpha", None)),
    differentiable: &["alpha", "x"],
    promise: "candle-nn/src/ops.rs:441-671: the fused form of rms_norm_slow (ops.rs:643-655); torch.nn.RMSNorm",
    ulps: 8.0,
};

/// `candle_nn::ops::layer_norm_slow(x, alpha, beta, eps)`: as `layer_norm`, of any layout, from single ops.
pub static LAYER_NORM_SLOW: Op = Op {
    name: "op.layer_norm_slow",
    covers: &["ops::layer_norm_slow"],
    support: &Support { of: "x", cpu: &DType::FLOATS_AND_F8, cuda: &DType::FLOATS },
    generate: |draw| generate(draw, LAYER_NORM_SLOW.support, &["alpha", "beta"]),
    contract: |case| slow(case, &["alpha", "beta"]),
    call: |call| {
        let (alpha, beta) = (call.tensor("alpha")?, call.tensor("beta")?);
        Ok(vec![ops::layer_norm_slow(call.tensor("x")?, alpha, beta, single_eps(call.case))?])
    },
    source: "candle_nn::ops::layer_norm_slow(&x, &alpha, &beta, {{ eps|default('1e-5')|f32 }})?",
    torch: LAYER_NORM.torch,
    reference: Some(|inputs| normalized(inputs, true, "alpha", Some("beta"))),
    ulps: 8.0,
    differentiable: &["alpha", "beta", "x"],
    promise: "candle-nn/src/ops.rs:895-915; torch.nn.LayerNorm",
};

/// `candle_nn::ops::rms_norm_slow(x, alpha, eps)`: as `rms_norm`, of any layout, from single ops.
pub static RMS_NORM_SLOW: Op = Op {
    name: "op.rms_norm_slow",
    covers: &["ops::rms_norm_slow"],
    support: &Support { of: "x", cpu: &DType::FLOATS_AND_F8, cuda: &DType::FLOATS },
    generate: |draw| generate(draw, RMS_NORM_SLOW.support, &["alpha"]),
    contract: |case| slow(case, &["alpha"]),
    call: |call| Ok(vec![ops::rms_norm_slow(call.tensor("x")?, call.tensor("alpha")?, single_eps(call.case))?]),
    source: "candle_nn::ops::rms_norm_slow(&x, &alpha, {{ eps|default('1e-5')|f32 }})?",
    torch: RMS_NORM.torch,
    reference: Some(|inputs| normalized(inputs, false, "alpha", None)),
    ulps: 8.0,
    differentiable: &["alpha", "x"],
    promise: "candle-nn/src/ops.rs:643-655; torch.nn.RMSNorm",
};

fn single_eps(case: &Case) -> f32 {
    case.float("eps", 1e-5) as f32
}

/// A case of `x` and `weights` of its last dimension, mostly contiguous.
pub fn generate(draw: &mut Draw, support: &Support, weights: &[&str]) -> arbitrary::Result<Case> {
    let dtype = draw.dtype(support)?;
    let mut shape = draw.shape(0, 3)?;
    let hidden = draw.reduced()?;
    shape.push(hidden);
    let mut case = Case::default().input("x", draw.packed(dtype, &shape)?);
    for weight in weights {
        case = case.input(weight, draw.packed(dtype, &[hidden])?);
    }
    case.backward = draw.backward()?;
    with_eps(draw, case, dtype)
}

/// The contract of a fused norm: of contiguous inputs.
pub fn contract(case: &Case, weights: &[&str]) -> Contract {
    fitting(case, weights).may_refuse(!case.is_contiguous(), why::CONTIGUOUS)
}

/// The contract of a norm made of ops that broadcast: weights of another shape may fit too.
pub fn slow(case: &Case, weights: &[&str]) -> Contract {
    match fitting(case, weights) {
        Contract::Rejects(why::SHAPES | why::RANK) if case.tensor("x").is_some_and(|x| !x.shape.is_empty()) => {
            Contract::Unspecified("weights of another shape")
        }
        Contract::Rejects(why::MIXED) if case.tensor("x").is_some_and(|x| x.elements() == Some(0)) => {
            Contract::Unspecified("weights of another dtype where nothing is computed")
        }
        other => other,
    }
}

fn fitting(case: &Case, weights: &[&str]) -> Contract {
    let Some(x) = case.tensor("x") else { return Contract::Rejects(why::SHAPES) };
    let Some(&hidden) = x.shape.last() else { return Contract::Rejects(why::RANK) };
    if !x.dtype.is_float() {
        return Contract::Unspecified("the norm of integers");
    }
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
    extraordinary(case, x.dtype).unwrap_or_else(|| Contract::accepts(x.dtype, &x.shape))
}

/// `case` with an `eps` that `dtype` holds, and forward only where no gradient is promised.
pub fn with_eps(draw: &mut Draw, case: Case, dtype: DType) -> arbitrary::Result<Case> {
    let eps = *draw.choose(&[1e-5, 1e-5, 1e-3, 1.0])?;
    let case = case.param("eps", if eps < dtype.smallest() { 0.125 } else { eps });
    let forward = extraordinary(&case, dtype).is_some();
    Ok(if forward { Case { backward: Backward::None, ..case } } else { case })
}

/// What is promised where an argument is no ordinary number; `None` where all are.
pub fn extraordinary(case: &Case, dtype: DType) -> Option<Contract> {
    let eps = case.float("eps", 1e-5);
    if !(1e-8..1e3).contains(&eps) || eps < dtype.smallest() {
        return Some(Contract::Unspecified("eps is no small positive number"));
    }
    if gradient_of_nothing(case) {
        return Some(Contract::Unspecified("gradients of nothing"));
    }
    let huge = |tensor: &Tensor| tensor.values.listed().iter().any(|value| value.as_f64().abs() > dtype.max().sqrt());
    let overflows = !case.backward.is_none() && case.inputs.values().any(huge);
    overflows.then_some(Contract::Unspecified("gradients of huge numbers"))
}

/// The `eps` of the case, which may be held in `f32`.
pub fn epsilon(case: &Case) -> Num {
    let eps = case.float("eps", 1e-5);
    Num { error: (f64::from(eps as f32) - eps).abs(), ..Num::exact(eps) }
}

/// `row` over the root of its mean square, around its mean if `centered`.
pub fn standardized(row: &[Num], eps: Num, centered: bool) -> Vec<Num> {
    let mut row = row.to_vec();
    if centered {
        let mean = Num::mean(&row);
        for x in &mut row {
            *x = *x - mean;
        }
    }
    let squares: Vec<Num> = row.iter().map(|&x| squared(x)).collect();
    let size = (Num::mean(&squares) + eps).sqrt();
    row.into_iter().map(|x| x / size).collect()
}

/// Every row of `x` standardized, times the input `scale`, plus the input `shift` of ops that have one.
pub fn normalized(inputs: &ReferenceInputs, centered: bool, scale: &str, shift: Option<&str>) -> Vec<ArrayD<Num>> {
    let (mut x, scale, shift) = (inputs.array("x"), inputs.array(scale), shift.map(|shift| inputs.array(shift)));
    let eps = epsilon(inputs.case);
    if x.is_empty() {
        return vec![x];
    }
    let last = Axis(x.ndim() - 1);
    for mut lane in x.lanes_mut(last) {
        let row: Vec<Num> = lane.iter().copied().collect();
        for (position, (slot, value)) in lane.iter_mut().zip(standardized(&row, eps, centered)).enumerate() {
            let scaled = value * scale[[position]];
            *slot = shift.as_ref().map_or(scaled, |shift| scaled + shift[[position]]);
        }
    }
    vec![x]
}
