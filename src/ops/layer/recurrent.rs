//! The recurrent layers `LSTM` and `GRU`: single steps and sequences.

use std::collections::HashMap;

use candle_core::Tensor as Candle;
use candle_nn::rnn::{Direction, GRUState, LSTMState};
use candle_nn::{GRUConfig, Init, LSTMConfig, RNN, VarBuilder};
use ndarray::{Array2, ArrayD, Axis, Ix1, Ix2, IxDyn};

use crate::case::Case;
use crate::generate::Draw;
use crate::number::Num;
use crate::ops::{Call, Contract, Op, ReferenceInputs, why};
use crate::tensor::{DType, Support};

/// `i, f, o = sigmoid, g = tanh` of `x W_ih^T + b_ih + h W_hh^T + b_hh`; `c' = f c + i g`, `h' = o tanh(c')`.
pub static LSTM: Op = Op {
    name: "layer.lstm",
    covers: &["LSTM", "LSTMConfig", "rnn::LSTMState", "rnn::Direction", "rnn::lstm", "RNN"],
    support: &Support::both("x", &DType::FLOATS),
    generate: |draw| generate(draw, 4),
    contract: |case| contract(case, 4),
    call: |call| {
        let backward = call.case.text("direction") == "backward";
        let biased = call.optional("b_ih").is_some();
        let config = LSTMConfig {
            layer_idx: call.size("layer", 0),
            direction: if backward { Direction::Backward } else { Direction::Forward },
            b_hh_init: call.optional("b_hh").map(|_| Init::Const(0.0)),
            ..if biased { LSTMConfig::default() } else { LSTMConfig::default_no_bias() }
        };
        let suffix = format!("_l{}{}", call.size("layer", 0), if backward { "_reverse" } else { "" });
        let (inner, hidden, vb) = weights(call, &suffix)?;
        let lstm = candle_nn::lstm(inner, hidden, config, vb)?;
        let states = states(&lstm, call, |h| Ok(LSTMState::new(h, call.tensor("c")?.clone())))?;
        let last = states.last().ok_or_else(|| candle_core::Error::Msg("no state".into()))?.clone();
        Ok(vec![lstm.states_to_tensor(&states)?, last.h().clone(), last.c().clone()])
    },
    source: r#"
        {% set backward, layer = direction == "backward", layer|default(0) %}
        {% set suffix = "_l" ~ layer ~ ("_reverse" if backward else "") %}
        let tensors = std::collections::HashMap::from([
            ("weight_ih{{ suffix }}".to_string(), w_ih),
            ("weight_hh{{ suffix }}".to_string(), w_hh),
            {% for name in ["ih", "hh"] if inputs["b_" ~ name] %}
            ("bias_{{ name }}{{ suffix }}".to_string(), b_{{ name }}),
            {% endfor %}
        ]);
        let vb = candle_nn::VarBuilder::from_tensors(tensors, {{ inputs.w_ih.dtype }}, &device);
        let config = candle_nn::LSTMConfig {
            layer_idx: {{ layer }},
            direction: candle_nn::rnn::Direction::{{ "Backward" if backward else "Forward" }},
            b_hh_init: {{ "Some(candle_nn::Init::Const(0.0))" if inputs.b_hh else "None" }},
            ..candle_nn::LSTMConfig::{{ "default" if inputs.b_ih else "default_no_bias" }}()
        };
        let lstm = candle_nn::lstm({{ inputs.w_ih.shape[1] }}, {{ inputs.w_hh.shape[1] }}, config, vb)?;
        {% if form == "step" %}
        let states = vec![lstm.step(&x, &candle_nn::rnn::LSTMState::new(h, c))?];
        {% elif form == "seq_init" %}
        let states = lstm.seq_init(&x, &candle_nn::rnn::LSTMState::new(h, c))?;
        {% else %}
        let states = lstm.seq(&x)?;
        {% endif %}
        let last = &states[states.len() - 1];
        let outputs = [lstm.states_to_tensor(&states)?, last.h().clone(), last.c().clone()];
    "#,
    torch: r#"
        {% set biases = ("b_ih" if inputs.b_ih else "None") ~ ", " ~ ("b_hh" if inputs.b_hh else "None") %}
        {% if form in ["step", "seq_init"] %}
        hidden, cell = h, c
        {% else %}
        hidden = cell = torch.zeros({{ inputs.x.shape[0] }}, {{ inputs.w_hh.shape[1] }}, dtype={{ inputs.x.dtype }})
        {% endif %}
        states = []
        for step in {{ "[x]" if form == "step" else "x.unbind(1)" }}:
            hidden, cell = torch.lstm_cell(step, (hidden, cell), w_ih, w_hh, {{ biases }})
            states.append(hidden)
        outputs = [torch.stack(states, dim=1), hidden, cell]
    "#,
    reference: Some(|inputs| {
        let (h, mut c) = (start(inputs, "h"), start(inputs, "c"));
        let mut outputs = unroll(inputs, h, |x, h| {
            let hidden = h.ncols();
            let next = |(b, j): (usize, usize)| {
                let gate = |g: usize| x[[b, g * hidden + j]].0 + x[[b, g * hidden + j]].1;
                sigmoid(gate(1)) * c[[b, j]] + sigmoid(gate(0)) * tanh(gate(2))
            };
            c = Array2::from_shape_fn(h.dim(), next);
            let out = |(b, j): (usize, usize)| {
                let gate = x[[b, 3 * hidden + j]];
                sigmoid(gate.0 + gate.1) * tanh(c[[b, j]])
            };
            Array2::from_shape_fn(h.dim(), out)
        });
        outputs.push(c.into_dyn());
        outputs
    }),
    ulps: 8.0,
    differentiable: &["b_hh", "b_ih", "c", "h", "w_hh", "w_ih", "x"],
    promise: "candle-nn/src/rnn.rs:1-252 (batch, sequence and feature dimensions; states_to_tensor stacks along the \
              sequence), candle-nn/tests/rnn.rs, which holds PyTorch's results; torch.nn.LSTM",
};

/// `r, z = sigmoid` of both parts, `n = tanh(x_n + r h_n)`; `h' = (1 - z) n + z h`.
pub static GRU: Op = Op {
    name: "layer.gru",
    covers: &["GRU", "GRUConfig", "rnn::GRUState", "rnn::gru", "RNN"],
    support: &Support::both("x", &DType::FLOATS),
    generate: |draw| generate(draw, 3),
    contract: |case| contract(case, 3),
    call: |call| {
        let biased = call.optional("b_ih").is_some();
        let config = GRUConfig {
            b_hh_init: call.optional("b_hh").map(|_| Init::Const(0.0)),
            ..if biased { GRUConfig::default() } else { GRUConfig::default_no_bias() }
        };
        let (inner, hidden, vb) = weights(call, "_l0")?;
        let gru = candle_nn::gru(inner, hidden, config, vb)?;
        let states = states(&gru, call, |h| Ok(GRUState { h }))?;
        let last = states.last().ok_or_else(|| candle_core::Error::Msg("no state".into()))?.clone();
        // One row of all states, where the LSTM gives one row per state: nothing says which is meant.
        let joined = gru.states_to_tensor(&states)?;
        let joined = joined.reshape((last.h().dim(0)?, states.len(), last.h().dim(1)?))?;
        Ok(vec![joined, last.h().clone()])
    },
    source: r#"
        let tensors = std::collections::HashMap::from([
            ("weight_ih_l0".to_string(), w_ih),
            ("weight_hh_l0".to_string(), w_hh),
            {% for name in ["ih", "hh"] if inputs["b_" ~ name] %}
            ("bias_{{ name }}_l0".to_string(), b_{{ name }}),
            {% endfor %}
        ]);
        let vb = candle_nn::VarBuilder::from_tensors(tensors, {{ inputs.w_ih.dtype }}, &device);
        let config = candle_nn::GRUConfig {
            b_hh_init: {{ "Some(candle_nn::Init::Const(0.0))" if inputs.b_hh else "None" }},
            ..candle_nn::GRUConfig::{{ "default" if inputs.b_ih else "default_no_bias" }}()
        };
        let gru = candle_nn::gru({{ inputs.w_ih.shape[1] }}, {{ inputs.w_hh.shape[1] }}, config, vb)?;
        {% if form == "step" %}
        let states = vec![gru.step(&x, &candle_nn::rnn::GRUState { h })?];
        {% elif form == "seq_init" %}
        let states = gru.seq_init(&x, &candle_nn::rnn::GRUState { h })?;
        {% else %}
        let states = gru.seq(&x)?;
        {% endif %}
        let last = &states[states.len() - 1];
        let (rows, hidden) = last.h().dims2()?;
        let joined = gru.states_to_tensor(&states)?.reshape((rows, states.len(), hidden))?;
        let outputs = [joined, last.h().clone()];
    "#,
    torch: r#"
        {% set biases = ("b_ih" if inputs.b_ih else "None") ~ ", " ~ ("b_hh" if inputs.b_hh else "None") %}
        {% if form in ["step", "seq_init"] %}
        hidden = h
        {% else %}
        hidden = torch.zeros({{ inputs.x.shape[0] }}, {{ inputs.w_hh.shape[1] }}, dtype={{ inputs.x.dtype }})
        {% endif %}
        states = []
        for step in {{ "[x]" if form == "step" else "x.unbind(1)" }}:
            hidden = torch.gru_cell(step, hidden, w_ih, w_hh, {{ biases }})
            states.append(hidden)
        outputs = [torch.stack(states, dim=1), hidden]
    "#,
    reference: Some(|inputs| {
        let one = Num::exact(1.0);
        unroll(inputs, start(inputs, "h"), |x, h| {
            let hidden = h.ncols();
            let next = |(b, j): (usize, usize)| {
                let gate = |g: usize| x[[b, g * hidden + j]];
                let reset = sigmoid(gate(0).0 + gate(0).1);
                let update = sigmoid(gate(1).0 + gate(1).1);
                let new = tanh(gate(2).0 + reset * gate(2).1);
                update * h[[b, j]] + (one - update) * new
            };
            Array2::from_shape_fn(h.dim(), next)
        })
    }),
    ulps: 8.0,
    differentiable: &["b_hh", "b_ih", "c", "h", "w_hh", "w_ih", "x"],
    promise: "candle-nn/src/rnn.rs:254-400, candle-nn/tests/rnn.rs, which holds PyTorch's results; torch.nn.GRU",
};

/// The dtypes of these ops.
pub const RECURRENT_SUPPORT: &Support = &Support::both("x", &DType::FLOATS);

fn generate(draw: &mut Draw, gates: usize) -> arbitrary::Result<Case> {
    let dtype = draw.dtype(RECURRENT_SUPPORT)?;
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

fn contract(case: &Case, gates: usize) -> Contract {
    let (Some(x), Some(w_ih), Some(w_hh)) = (case.tensor("x"), case.tensor("w_ih"), case.tensor("w_hh")) else {
        return Contract::Rejects(why::SHAPES);
    };
    let form = case.text("form");
    if x.shape.len() != if form == "step" { 2 } else { 3 } || w_ih.shape.len() != 2 || w_hh.shape.len() != 2 {
        return Contract::Rejects(why::RANK);
    }
    let (batch, inner, hidden) = (x.shape[0], x.shape[x.shape.len() - 1], w_hh.shape[1]);
    let rows = gates.saturating_mul(hidden);
    if w_ih.shape != [rows, inner] || w_hh.shape[0] != rows {
        return Contract::Rejects(why::SHAPES);
    }
    if !["seq", "seq_init", "step"].contains(&form) || (form == "seq" && case.tensor("h").is_some()) {
        return Contract::Unspecified("a state for a sequence that begins without one");
    }
    let states: &[&str] = if form == "seq" {
        &[]
    } else if gates == 4 {
        &["c", "h"]
    } else {
        &["h"]
    };
    if states.iter().any(|state| case.tensor(state).is_none_or(|state| state.shape != [batch, hidden])) {
        return Contract::Unspecified("a state that is not one row per element of the batch");
    }
    if ["b_ih", "b_hh"].iter().any(|bias| case.tensor(bias).is_some_and(|bias| bias.shape != [rows])) {
        return Contract::Rejects(why::SHAPES);
    }
    if x.dtype != w_ih.dtype || states.iter().any(|state| case.tensor(state).is_some_and(|s| s.dtype != x.dtype)) {
        return Contract::Rejects(why::MIXED);
    }
    if case.inputs.values().any(|tensor| tensor.dtype != x.dtype) {
        return Contract::Unspecified("a builder converts dtypes");
    }
    if !x.dtype.is_float() {
        return Contract::Unspecified("a recurrent layer of integers");
    }
    if x.shape.contains(&0) || hidden == 0 {
        return Contract::Unspecified("a sequence of nothing");
    }
    let steps = if form == "step" { 1 } else { x.shape[1] };
    if batch.saturating_mul(steps).saturating_mul(rows).saturating_mul(inner.max(hidden)) > 1 << 20 {
        return Contract::Unspecified(why::TOO_LARGE);
    }
    let mut outputs = vec![(x.dtype, vec![batch, steps, hidden]), (x.dtype, vec![batch, hidden])];
    outputs.extend((gates == 4).then(|| (x.dtype, vec![batch, hidden])));
    Contract::Accepts { outputs, refusal: None }.may_refuse(!case.is_contiguous(), why::CONTIGUOUS)
}

/// Sizes of the layer, and the builder that holds its weights.
fn weights<'a>(call: &Call, suffix: &str) -> candle_core::Result<(usize, usize, VarBuilder<'a>)> {
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

fn states<R: RNN>(
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
fn start(inputs: &ReferenceInputs, name: &str) -> Array2<Num> {
    let shape = [inputs.array("x").shape()[0], inputs.array("w_hh").shape()[1]];
    let zeros = || ArrayD::from_elem(IxDyn(&shape), Num::exact(0.0));
    let state = if inputs.case.text("form") == "seq" { None } else { inputs.optional(name) };
    state.unwrap_or_else(zeros).into_dimensionality::<Ix2>().expect("a checked state")
}

/// All states and the last one: `next` makes a state of the gates' two parts, from the input and from the state.
fn unroll(
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
        let product = Num::sum(x.row(b).iter().zip(weight.row(j)).map(|(&x, &w)| x * w));
        bias.as_ref().map_or(product, |bias| product + bias[j])
    })
}

/// `1 / (1 + e^-x)`, whose derivative may be computed as `s (1 - s)`.
fn sigmoid(x: Num) -> Num {
    let one = Num::exact(1.0);
    let value = one / (one + (-x).exp());
    Num { slope_error: value.slope_error + x.unit * x.slope.abs(), ..value }
}

/// `(1 - e^-2x) / (1 + e^-2x)` of the magnitude, with the sign; its derivative may be computed as `1 - t^2`.
fn tanh(x: Num) -> Num {
    if x.value < 0.0 {
        return -tanh(-x);
    }
    let (one, two) = (Num::exact(1.0), Num::exact(2.0));
    let shrunk = (-(two * x)).exp();
    let value = (one - shrunk) / (one + shrunk);
    Num { slope_error: value.slope_error + 2.0 * x.unit * x.slope.abs(), ..value }
}
