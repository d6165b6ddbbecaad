//! `BatchNorm`, evaluating with its running statistics and training them.

use candle_nn::{BatchNorm, ModuleT};
use ndarray::{ArrayD, IxDyn};

use crate::case::{Case, InputSpec, ParamSpec};
use crate::generate::Draw;
use crate::number::Num;
use crate::ops::support::arguments::EPS;
use crate::ops::support::dtypes::FLOATS_AND_F8;
use crate::ops::support::reducing::norm::{epsilon, unspecified_arguments, with_eps};
use crate::ops::support::reducing::reductions::squared;
use crate::ops::{Call, Contract, Op, ReferenceInputs, rule, why};
use crate::tensor::{DType, Tensor, Value, Values, product};

/// The inputs of both ops.
const INPUTS: &[InputSpec] = &[
    InputSpec::new("x", "(N, C, ..)"),
    InputSpec::new("running_mean", "(C)"),
    InputSpec::new("running_var", "(C)"),
    InputSpec::new("weight", "(C), with `bias` or without both").optional(),
    InputSpec::new("bias", "(C), with `weight` or without both").optional(),
];

/// `BatchNorm` of `x (N, C, ..)`, evaluating: `(x - running_mean) / sqrt(running_var + eps) * weight + bias`.
pub static BATCH_NORM: Op = Op {
    name: "layer.batch_norm",
    covers: &["BatchNorm", "BatchNorm::new", "BatchNorm::new_no_bias"],
    support: FLOATS_AND_F8,
    inputs: INPUTS,
    params: &[EPS, ParamSpec::size("features", 1, "The number of channels.")],
    generate: &|draw| {
        let dtype = draw.dtype(BATCH_NORM.support)?;
        generate(draw, dtype, dtype)
    },
    contract: &|case| contract(case, false),
    call: &|call| Ok(vec![layer(call)?.forward_t(call.tensor("x")?, false)?]),
    source: r#"
        {% set running = "running_mean, running_var" %}
        {% if inputs.weight and inputs.bias %}
        let norm = candle_nn::BatchNorm::new({{ features }}, {{ running }}, weight, bias, {{ eps }})?;
        {% else %}
        let norm = candle_nn::BatchNorm::new_no_bias({{ features }}, {{ running }}, {{ eps }})?;
        {% endif %}
        norm.forward_t(&x, false)?
    "#,
    torch: r#"
        {% set affine = "weight=weight, bias=bias, " if inputs.weight and inputs.bias else "" %}
        F.batch_norm(x, running_mean, running_var, {{ affine }}eps={{ eps }})
    "#,
    reference: Some(&|inputs| {
        let (mean, variance) = (inputs.array("running_mean"), inputs.array("running_var"));
        let (mean, variance): (Vec<Num>, Vec<Num>) =
            (mean.iter().copied().collect(), variance.iter().copied().collect());
        vec![affine(inputs, &mean, &variance)]
    }),
    ulps: 8.0,
    differentiable: &["bias", "weight", "x"],
    promise: "candle-nn/src/batch_norm.rs; torch.nn.BatchNorm1d and BatchNorm2d, which reject a negative eps \
              and take any momentum",
};

/// `BatchNorm` of `x (N, C, ..)`, training: `x` standardized by the mean and biased variance of the batch, then the
/// running mean and the running (unbiased) variance after `steps` steps of `momentum` on this batch.
pub static BATCH_NORM_TRAIN: Op = Op {
    name: "layer.batch_norm_train",
    covers: &[
        "BatchNorm::forward_train",
        "BatchNorm::new_with_momentum",
        "BatchNorm::new_no_bias_with_momentum",
        "BatchNorm::running_mean",
        "BatchNorm::running_var",
    ],
    support: FLOATS_AND_F8,
    inputs: INPUTS,
    params: &[
        EPS,
        ParamSpec::size("features", 1, "The number of channels."),
        ParamSpec::float("momentum", 0.1, "The weight of the batch in the running mean and variance.").optional(),
        ParamSpec::size("steps", 1, "How often the layer is trained on the batch.").optional(),
    ],
    generate: &|draw| {
        let dtype = draw.dtype(BATCH_NORM.support)?;
        let case = generate(draw, dtype, statistics(dtype))?;
        let case = case.param("momentum", *draw.choose(&[0.125, 0.5, 0.0, 1.0])?);
        Ok(if draw.one_in(16)? { case.param("steps", *draw.choose(&[10, 100, 1000_usize])?) } else { case })
    },
    contract: &|case| match steps(case) {
        0 => Contract::Unspecified(why::NO_CALL),
        1..=MOST_STEPS => contract(case, true),
        _ => Contract::Unspecified(why::TOO_LARGE),
    },
    call: &|call| {
        let layer = layer(call)?;
        for _ in 1..steps(call.case) {
            layer.forward_train(call.tensor("x")?)?;
        }
        let out = layer.forward_train(call.tensor("x")?)?;
        // All outputs in one dtype: the backward pass starts from their sum.
        let running = [layer.running_mean(), layer.running_var()].map(|running| running.to_dtype(out.dtype()));
        let [mean, variance] = running;
        // The layer made variables of both.
        Ok(vec![out, mean?.detach(), variance?.detach()])
    },
    source: r#"
        {% set more = "_with_momentum" if momentum is defined else "" %}
        {% set eps = eps ~ (", " ~ momentum if momentum is defined else "") %}
        {% set running = "running_mean, running_var" %}
        {% if inputs.weight and inputs.bias %}
        let norm = candle_nn::BatchNorm::new{{ more }}({{ features }}, {{ running }}, weight, bias, {{ eps }})?;
        {% else %}
        let norm = candle_nn::BatchNorm::new_no_bias{{ more }}({{ features }}, {{ running }}, {{ eps }})?;
        {% endif %}
        {% if steps is defined %}
        for _ in 1..{{ steps }} {
            norm.forward_train(&x)?;
        }
        {% endif %}
        let normalized = norm.forward_train(&x)?;
        let [mean, variance] = [norm.running_mean(), norm.running_var()].map(|running| running.to_dtype(x.dtype()));
        let outputs = [normalized, mean?, variance?];
    "#,
    torch: r#"
        {% set affine = "weight, bias" if inputs.weight and inputs.bias else "None, None" %}
        {% set more = "training=True, momentum=" ~ momentum|default("0.1") ~ ", eps=" ~ eps %}
        {% if inputs.x.dtype != inputs.running_mean.dtype %}{{ lacks("statistics of another dtype") }}{% endif %}
        mean, variance = running_mean.clone(), running_var.clone()
        {% if steps is defined %}
        for _ in range({{ steps }} - 1):
            F.batch_norm(x, mean, variance, {{ affine }}, {{ more }})
        {% endif %}
        normalized = F.batch_norm(x, mean, variance, {{ affine }}, {{ more }})
        outputs = [normalized, mean, variance]
    "#,
    reference: Some(&trained),
    ulps: 8.0,
    differentiable: &["bias", "weight", "x"],
    promise: "candle-nn/src/batch_norm.rs; torch.nn.BatchNorm1d and BatchNorm2d, which reject a negative eps \
              and take any momentum",
};

/// The most steps that a contract judges.
const MOST_STEPS: usize = 10_000;

/// How often a case trains the layer on its batch.
fn steps(case: &Case) -> usize {
    case.optional_size("steps").unwrap_or(1)
}

/// The dtype in which a layer of `dtype` computes its statistics.
fn statistics(dtype: DType) -> DType {
    if matches!(dtype, DType::F16 | DType::Bf16) { DType::F32 } else { dtype }
}

fn generate(draw: &mut Draw, dtype: DType, running: DType) -> arbitrary::Result<Case> {
    let features = draw.between(1, 4)?;
    let mut shape = draw.shape(0, 2)?.into_iter().map(|n| n.max(1)).collect::<Vec<_>>();
    shape.splice(0..0, [draw.reduced()?.max(2), features]);
    let mut case = Case::default().input("x", draw.tensor(dtype, &shape)?).param("features", features);
    case = case.input("running_mean", draw.tensor(running, &[features])?);
    case = case.input("running_var", positive(draw.tensor(running, &[features])?));
    if !draw.one_in(3)? {
        case = case.input("weight", draw.tensor(dtype, &[features])?);
        case = case.input("bias", draw.tensor(dtype, &[features])?);
    }
    case.backward = draw.backward()?;
    with_eps(draw, case, dtype)
}

/// `tensor` with the magnitudes of its values.
fn positive(tensor: Tensor) -> Tensor {
    let values = tensor.values.to_vec(tensor.stored().unwrap_or(0)).into_iter();
    let values = values.map(|value| Value::of(tensor.dtype, value.as_f64().abs())).collect();
    Tensor { values: Values::List(values), ..tensor }
}

fn layer(call: &Call) -> candle_core::Result<BatchNorm> {
    let (features, eps) = (call.size("features"), call.case.float("eps"));
    let (mean, variance) = (call.tensor("running_mean")?.clone(), call.tensor("running_var")?.clone());
    let momentum = call.case.optional_float("momentum");
    match (call.optional("weight").cloned(), call.optional("bias").cloned(), momentum) {
        (Some(weight), Some(bias), None) => BatchNorm::new(features, mean, variance, weight, bias, eps),
        (Some(weight), Some(bias), Some(momentum)) => {
            BatchNorm::new_with_momentum(features, mean, variance, weight, bias, eps, momentum)
        }
        (_, _, None) => BatchNorm::new_no_bias(features, mean, variance, eps),
        (_, _, Some(momentum)) => BatchNorm::new_no_bias_with_momentum(features, mean, variance, eps, momentum),
    }
}

/// The weight of the batch: candle's default if the case does not give it.
fn momentum(case: &Case) -> f64 {
    case.optional_float("momentum").unwrap_or(0.1)
}

fn contract(case: &Case, train: bool) -> Contract {
    let (Some(x), Some(mean), Some(variance)) =
        (case.tensor("x"), case.tensor("running_mean"), case.tensor("running_var"))
    else {
        return Contract::Rejects(&rule::SHAPES);
    };
    if !x.dtype.is_float() || !variance.dtype.is_float() {
        return Contract::Rejects(&rule::NORM);
    }
    let weights: Vec<&Tensor> = ["weight", "bias"].iter().filter_map(|name| case.tensor(name)).collect();
    if weights.len() == 1 {
        return Contract::Unspecified("a weight without a bias, or a bias without a weight");
    }
    let features = case.size("features");
    if [mean, variance].iter().chain(&weights).any(|t| t.shape != [features]) {
        return Contract::Rejects(&rule::SHAPES);
    }
    if case.float("eps") < 0.0 {
        return Contract::Rejects(&rule::NEGATIVE_EPS);
    }
    if x.shape.len() < 2 {
        return Contract::Rejects(&rule::RANK);
    }
    if x.shape[1] != features {
        return Contract::Rejects(&rule::SHAPES);
    }
    if features == 0 {
        return Contract::Unspecified("no channels");
    }
    let may_be_running = |dtype: DType| dtype == x.dtype || train && dtype == statistics(x.dtype);
    let each = x.elements().unwrap_or(0) / features;
    if train && each == 0 {
        return Contract::Rejects(&rule::EMPTY_BATCH);
    }
    let is_mixed = mean.dtype != variance.dtype || !may_be_running(mean.dtype);
    if is_mixed || weights.iter().any(|t| t.dtype != x.dtype) {
        return Contract::mixed(x);
    }
    if let Some(unspecified) = unspecified_arguments(case, x.dtype) {
        return unspecified;
    }
    let mut outputs = vec![(x.dtype, x.shape.clone())];
    if train {
        outputs.extend([(x.dtype, vec![features]), (x.dtype, vec![features])]);
    }
    // PyTorch refuses it. A test of candle trains on one value.
    let contract = Contract::Accepts { outputs, refusal: None };
    contract.may_refuse(train && each == 1, "one value per channel")
}

/// `(x - mean) / sqrt(variance + eps) * weight + bias`, by channel.
fn affine(inputs: &ReferenceInputs, mean: &[Num], variance: &[Num]) -> ArrayD<Num> {
    let (x, weight, bias) = (inputs.array("x"), inputs.optional("weight"), inputs.optional("bias"));
    let (channels, inner) = (x.shape()[1], product(&x.shape()[2..]).unwrap_or(1));
    let deviation: Vec<Num> = variance.iter().map(|&variance| (variance + epsilon(inputs.case)).sqrt()).collect();
    let value = |(position, &x): (usize, &Num)| {
        let channel = position / inner % channels;
        let standard = (x - mean[channel]) / deviation[channel];
        let scaled = weight.as_ref().map_or(standard, |weight| standard * weight[[channel]]);
        bias.as_ref().map_or(scaled, |bias| scaled + bias[[channel]])
    };
    let values = x.iter().enumerate().map(value).collect();
    ArrayD::from_shape_vec(IxDyn(x.shape()), values).expect("as many as before")
}

fn trained(inputs: &ReferenceInputs) -> Vec<ArrayD<Num>> {
    let x = inputs.array("x");
    let (channels, inner) = (x.shape()[1], product(&x.shape()[2..]).unwrap_or(1));
    let mut lanes = vec![Vec::new(); channels];
    x.iter().enumerate().for_each(|(position, &x)| lanes[position / inner % channels].push(x));
    let mean: Vec<Num> = lanes.iter().map(|lane| Num::mean(lane)).collect();
    let squares = |lane: &[Num], mean: Num| Num::sum(lane.iter().map(|&x| squared(x - mean)));
    let squares: Vec<Num> = lanes.iter().zip(&mean).map(|(lane, &mean)| squares(lane, mean)).collect();
    let count = x.len() as f64 / channels.max(1) as f64;
    let biased: Vec<Num> = squares.iter().map(|&squares| squares / Num::exact(count)).collect();
    // One value has no unbiased variance: the running one keeps all it has, or loses the share of the new one.
    let unbiased: Vec<Num> = squares.iter().map(|&squares| squares / Num::exact((count - 1.0).max(1.0))).collect();
    let momentum = Num::exact(momentum(inputs.case));
    // The running statistics are variables of their own: no derivative flows through them.
    let moved = |name: &str, batch: &[Num]| {
        let mut running = inputs.array(name);
        for (old, &new) in running.iter_mut().zip(batch) {
            for _ in 0..steps(inputs.case) {
                let kept = if count > 1.0 || name != "running_var" { 0.0 } else { (momentum.value * old.value).abs() };
                let moved = (*old * (Num::exact(1.0) - momentum) + new * momentum).detached();
                let moved = Num { error: moved.error + kept, ..moved };
                *old = Num::sum([Num { unit: new.unit, ..moved }]);
            }
        }
        running
    };
    vec![affine(inputs, &mean, &biased), moved("running_mean", &mean), moved("running_var", &unbiased)]
}
