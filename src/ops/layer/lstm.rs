//! The layer `LSTM`: single steps and sequences.

use candle_nn::rnn::{Direction, LSTMState};
use candle_nn::{Init, LSTMConfig, RNN};
use ndarray::Array2;

use crate::case::ParamSpec;
use crate::ops::Op;
use crate::ops::support::dtypes::FLOATS;
use crate::ops::support::models::recurrent::{
    CELL, FORM, HIDDEN, HIDDEN_BIAS, HIDDEN_WEIGHT, INPUT_BIAS, INPUT_WEIGHT, X, contract, generate, sigmoid, start,
    states, tanh, unroll, weights,
};

/// `i, f, o = sigmoid, g = tanh` of `x W_ih^T + b_ih + h W_hh^T + b_hh`; `c' = f c + i g`, `h' = o tanh(c')`.
pub static LSTM: Op = Op {
    name: "layer.lstm",
    covers: &[
        "LSTM",
        "LSTMConfig",
        "rnn::LSTMState",
        "rnn::Direction",
        "rnn::lstm",
        "RNN",
        "LSTMState::new",
        "LSTMConfig::default_no_bias",
    ],
    support: FLOATS,
    inputs: &[X, HIDDEN, CELL, INPUT_WEIGHT, HIDDEN_WEIGHT, INPUT_BIAS, HIDDEN_BIAS],
    params: &[
        ParamSpec::word("direction", &["", "backward"], "The direction."),
        FORM,
        ParamSpec::size("layer", 0, "The number of the layer, in the names of its weights."),
    ],
    generate: &|draw| generate(draw, 4),
    contract: &|case| contract(case, 4),
    call: &|call| {
        let backward = call.case.text("direction") == "backward";
        let biased = call.optional("b_ih").is_some();
        let config = LSTMConfig {
            layer_idx: call.size("layer"),
            direction: if backward { Direction::Backward } else { Direction::Forward },
            b_hh_init: call.optional("b_hh").map(|_| Init::Const(0.0)),
            ..if biased { LSTMConfig::default() } else { LSTMConfig::default_no_bias() }
        };
        let suffix = format!("_l{}{}", call.size("layer"), if backward { "_reverse" } else { "" });
        let (inner, hidden, vb) = weights(call, &suffix)?;
        let lstm = candle_nn::lstm(inner, hidden, config, vb)?;
        let states = states(&lstm, call, |h| Ok(LSTMState::new(h, call.tensor("c")?.clone())))?;
        let last = states.last().ok_or_else(|| candle_core::Error::Msg("no state".into()))?.clone();
        Ok(vec![lstm.states_to_tensor(&states)?, last.h().clone(), last.c().clone()])
    },
    source: r#"
        {% set backward = direction == "backward" %}
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
    reference: Some(&|inputs| {
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
