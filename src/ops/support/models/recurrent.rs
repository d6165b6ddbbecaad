//! What the recurrent layers share. An LSTM has 4 gates, a GRU 3.

use std::collections::HashMap;

use candle_core::Tensor as Candle;
use candle_nn::{RNN, VarBuilder};
use ndarray::{Array2, ArrayD, Axis, Ix1, Ix2, IxDyn};

use crate::case::{Case, InputSpec, ParamSpec};
use crate::generate::Draw;
use crate::number::Num;
use crate::ops::support::dtypes::FLOATS;
use crate::ops::{Call, Contract, ReferenceInputs, rule, why};

/// A step or the steps of a sequence.
pub const X: InputSpec = InputSpec::new("x", "(N, I) for one step, else (N, T, I)");
/// The state before the first step.
pub const HIDDEN: InputSpec = InputSpec::new("h", "(N, H): the state").unless("form", "seq");
/// The other state of an LSTM.
pub const CELL: InputSpec = InputSpec::new("c", "(N, H): the cell state").unless("form", "seq");
/// The weights of the input.
pub const INPUT_WEIGHT: InputSpec = InputSpec::new("w_ih", "(gates H, I)");
/// The weights of the state.
pub const HIDDEN_WEIGHT: InputSpec = InputSpec::new("w_hh", "(gates H, H)");
/// The bias of the input.
pub const INPUT_BIAS: InputSpec = InputSpec::new("b_ih", "(gates H)").optional();
/// The bias of the state.
pub const HIDDEN_BIAS: InputSpec = InputSpec::new("b_hh", "(gates H)").optional();
/// How the layer is called.
pub const FORM: ParamSpec =
    ParamSpec::word("form", &["seq", "seq_init", "step"], "All steps, all steps from a state, or one step.").required();

/// Draws a step or a sequence, with the weights of this many gates.
pub fn generate(draw: &mut Draw, gates: usize) -> arbitrary::Result<Case> {
    let dtype = draw.dtype(FLOATS)?;
    let (batch, steps) = (draw.between(1, 3)?, draw.between(1, 3)?);
    let (inner, hidden) = (draw.between(1, 3)?, draw.between(1, 2)?);
    let form = *draw.choose(&["seq", "seq_init", "step"])?;
    let x = if form == "step" { vec![batch, inner] } else { vec![batch, steps, inner] };
    let mut case = Case::default().param("form", form);
    case = case.input("x", draw.tensor(dtype, &x)?);
    for (name, columns) in [("w_ih", inner), ("w_hh", hidden)] {
        case = case.input(name, draw.packed(dtype, &[gates * hidden, columns])?);
    }
    for name in ["b_ih", "b_hh"] {
        if draw.one_in(2)? {
            case = case.input(name, draw.tensor(dtype, &[gates * hidden])?);
        }
    }
    if form != "seq" {
        for name in if gates == 4 { &["h", "c"][..] } else { &["h"] } {
            case = case.input(name, draw.tensor(dtype, &[batch, hidden])?);
        }
    }
    if gates == 4 && draw.one_in(3)? {
        case = case.param("direction", "backward").param("layer", 1usize);
    }
    case.backward = draw.backward()?;
    Ok(case)
}

/// Accepts a step or a sequence that fits the weights.
pub fn contract(case: &Case, gates: usize) -> Contract {
    let (Some(x), Some(w_ih), Some(w_hh)) = (case.tensor("x"), case.tensor("w_ih"), case.tensor("w_hh")) else {
        return Contract::Rejects(&rule::SHAPES);
    };
    let form = case.text("form");
    if x.shape.len() != if form == "step" { 2 } else { 3 } || w_ih.shape.len() != 2 || w_hh.shape.len() != 2 {
        return Contract::Rejects(&rule::RANK);
    }
    let (batch, inner, hidden) = (x.shape[0], x.shape[x.shape.len() - 1], w_hh.shape[1]);
    let rows = gates.saturating_mul(hidden);
    if w_ih.shape != [rows, inner] || w_hh.shape[0] != rows {
        return Contract::Rejects(&rule::SHAPES);
    }
    if !["seq", "seq_init", "step"].contains(&form) || (form == "seq" && case.tensor("h").is_some()) {
        return Contract::Unspecified(why::NO_CALL);
    }
    let states: &[&str] = if form == "seq" {
        &[]
    } else if gates == 4 {
        &["c", "h"]
    } else {
        &["h"]
    };
    if states.iter().any(|state| case.tensor(state).is_none_or(|state| state.shape != [batch, hidden])) {
        return Contract::Rejects(&rule::SHAPES);
    }
    if ["b_ih", "b_hh"].iter().any(|bias| case.tensor(bias).is_some_and(|bias| bias.shape != [rows])) {
        return Contract::Rejects(&rule::SHAPES);
    }
    if x.dtype != w_ih.dtype || states.iter().any(|state| case.tensor(state).is_some_and(|s| s.dtype != x.dtype)) {
        return Contract::Rejects(&rule::MIXED);
    }
    if case.inputs.values().any(|tensor| tensor.dtype != x.dtype) {
        return Contract::Unspecified("a `VarBuilder` has only one dtype");
    }
    if !x.dtype.is_float() {
        return Contract::Rejects(&rule::RECURRENCE);
    }
    if x.shape[1..].contains(&0) || hidden == 0 {
        return Contract::Unspecified("a sequence without elements");
    }
    let steps = if form == "step" { 1 } else { x.shape[1] };
    if batch.saturating_mul(steps).saturating_mul(rows).saturating_mul(inner.max(hidden)) > 1 << 20 {
        return Contract::Unspecified(why::TOO_LARGE);
    }
    let mut outputs = vec![(x.dtype, vec![batch, steps, hidden]), (x.dtype, vec![batch, hidden])];
    outputs.extend((gates == 4).then(|| (x.dtype, vec![batch, hidden])));
    Contract::Accepts { outputs, refusal: None }.may_refuse(!case.is_contiguous(), why::CONTIGUOUS)
}

/// The sizes of the layer, and a builder that holds its weights.
pub fn weights<'a>(call: &Call, suffix: &str) -> candle_core::Result<(usize, usize, VarBuilder<'a>)> {
    let (w_ih, w_hh) = (call.tensor("w_ih")?, call.tensor("w_hh")?);
    let mut tensors = HashMap::new();
    for (input, name) in [("w_ih", "weight_ih"), ("w_hh", "weight_hh"), ("b_ih", "bias_ih"), ("b_hh", "bias_hh")] {
        if let Some(tensor) = call.optional(input) {
            tensors.insert(format!("{name}{suffix}"), tensor.clone());
        }
    }
    let vb = VarBuilder::from_tensors(tensors, w_ih.dtype(), w_ih.device());
    Ok((w_ih.dim(1)?, w_hh.dim(1)?, vb))
}

/// The states of all steps.
pub fn states<R: RNN>(
    layer: &R,
    call: &Call,
    state: impl Fn(Candle) -> candle_core::Result<R::State>,
) -> candle_core::Result<Vec<R::State>> {
    let x = call.tensor("x")?;
    match call.case.text("form") {
        "step" => Ok(vec![layer.step(x, &state(call.tensor("h")?.clone())?)?]),
        "seq_init" => layer.seq_init(x, &state(call.tensor("h")?.clone())?),
        _ => layer.seq(x),
    }
}

/// The state to start from: the input `name`, or zeros.
pub fn start(inputs: &ReferenceInputs, name: &str) -> Array2<Num> {
    let shape = [inputs.array("x").shape()[0], inputs.array("w_hh").shape()[1]];
    let zeros = || ArrayD::from_elem(IxDyn(&shape), Num::exact(0.0));
    let state = if inputs.case.text("form") == "seq" { None } else { inputs.optional(name) };
    state.unwrap_or_else(zeros).into_dimensionality::<Ix2>().expect("a checked state")
}

/// All states and the last one. `next` makes a state of the gates' two summands: from the input, and from the state
/// before.
pub fn unroll(
    inputs: &ReferenceInputs,
    mut h: Array2<Num>,
    mut next: impl FnMut(&Array2<(Num, Num)>, &Array2<Num>) -> Array2<Num>,
) -> Vec<ArrayD<Num>> {
    let mut x = inputs.array("x");
    if x.ndim() == 2 {
        x.insert_axis_inplace(Axis(1));
    }
    let steps = x.shape()[1];
    let mut all = Vec::new();
    for step in 0..steps {
        let now = x.index_axis(Axis(1), step).to_owned().into_dimensionality::<Ix2>().expect("a checked input");
        let (input, state) = (affine(inputs, &now, "w_ih", "b_ih"), affine(inputs, &h, "w_hh", "b_hh"));
        let gates = Array2::from_shape_fn(input.dim(), |at| (input[at], state[at]));
        h = next(&gates, &h);
        all.push(h.clone());
    }
    let (batch, hidden) = h.dim();
    let joined = ArrayD::from_shape_fn(IxDyn(&[batch, steps, hidden]), |at| all[at[1]][[at[0], at[2]]]);
    vec![joined, h.into_dyn()]
}

/// `x w^T + b`.
fn affine(inputs: &ReferenceInputs, x: &Array2<Num>, weight: &str, bias: &str) -> Array2<Num> {
    let weight = inputs.array(weight).into_dimensionality::<Ix2>().expect("a checked weight");
    let bias = inputs.optional(bias).map(|bias| bias.into_dimensionality::<Ix1>().expect("a checked bias"));
    Array2::from_shape_fn((x.nrows(), weight.nrows()), |(b, j)| {
        let product = Num::dot(x.row(b).iter().copied().zip(weight.row(j).iter().copied()));
        bias.as_ref().map_or(product, |bias| product + bias[j])
    })
}

/// `1 / (1 + e^-x)`, whose derivative may be computed as `s (1 - s)`.
pub fn sigmoid(x: Num) -> Num {
    let one = Num::exact(1.0);
    let value = one / (one + (-x).exp());
    let value = Num { slope_error: value.slope_error + x.unit * x.slope.abs(), ..value };
    let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
    saturating(x, value, sigmoid, |x| sigmoid(x) * sigmoid(-x))
}

/// `(1 - e^-2x) / (1 + e^-2x)` of the magnitude, with the sign; its derivative may be computed as `1 - t^2`.
pub fn tanh(x: Num) -> Num {
    if x.value < 0.0 {
        return -tanh(-x);
    }
    let (one, two) = (Num::exact(1.0), Num::exact(2.0));
    let shrunk = (-(two * x)).exp();
    let value = (one - shrunk) / (one + shrunk);
    let value = Num { slope_error: value.slope_error + 2.0 * x.unit * x.slope.abs(), ..value };
    saturating(x, value, f64::tanh, |x| x.cosh().powi(-2))
}

/// `value`, which is `f` of `x`. Where `f` is flat, its slope and its curvature say little of what a large error of `x` makes of it and
/// of its derivative, which is steepest at 0.
fn saturating(x: Num, value: Num, f: impl Fn(f64) -> f64, derivative: impl Fn(f64) -> f64) -> Num {
    let ends = [x.value - x.error, x.value + x.error];
    let error = ends.iter().fold(value.error, |error, &end| error.max((f(end) - value.value).abs()));
    let steepest = derivative(0.0_f64.max(ends[0]).min(ends[1]));
    let flattest = ends.iter().fold(steepest, |least, &end| least.min(derivative(end)));
    let slope_error = (steepest - flattest) * x.slope.abs() + steepest * x.slope_error;
    Num { error, slope_error: value.slope_error.max(slope_error), ..value }
}
