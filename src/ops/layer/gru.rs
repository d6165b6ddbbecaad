//! The layer `GRU`: single steps and sequences.

use candle_core::Tensor;
use candle_nn::rnn::GRUState;
use candle_nn::{GRUConfig, Init, RNN};
use ndarray::Array2;

use crate::case::ParamSpec;
use crate::number::Num;
use crate::ops::Op;
use crate::ops::support::dtypes::FLOATS;
use crate::ops::support::models::recurrent::{
    FORM, HIDDEN, HIDDEN_BIAS, HIDDEN_WEIGHT, INPUT_BIAS, INPUT_WEIGHT, X, contract, generate, sigmoid, start, states,
    tanh, unroll, weights,
};

/// `r, z = sigmoid` of both parts, `n = tanh(x_n + r h_n)`; `h' = (1 - z) n + z h`.
pub static GRU: Op = Op {
    name: "layer.gru",
    covers: &[
        "GRU",
        "GRUConfig",
        "rnn::GRUState",
        "rnn::gru",
        "RNN",
        "GRUConfig::default_no_bias",
        "VarBuilder::from_tensors",
    ],
    support: FLOATS,
    inputs: &[X, HIDDEN, INPUT_WEIGHT, HIDDEN_WEIGHT, INPUT_BIAS, HIDDEN_BIAS],
    params: &[
        FORM,
        ParamSpec::flag("joined", false, "Whether `states_to_tensor` joins the states; else `Tensor::stack` does."),
    ],
    generate: &|draw| {
        let case = generate(draw, 3)?;
        Ok(if draw.one_in(4)? { case.param("joined", 1_i64) } else { case })
    },
    contract: &|case| contract(case, 3),
    call: &|call| {
        let biased = call.optional("b_ih").is_some();
        let config = GRUConfig {
            b_hh_init: call.optional("b_hh").map(|_| Init::Const(0.0)),
            ..if biased { GRUConfig::default() } else { GRUConfig::default_no_bias() }
        };
        let (inner, hidden, vb) = weights(call, "_l0")?;
        let gru = candle_nn::gru(inner, hidden, config, vb)?;
        let states = states(&gru, call, |h| Ok(GRUState { h }))?;
        let last = states.last().ok_or_else(|| candle_core::Error::Msg("no state".into()))?.clone();
        let joined = if call.case.int("joined") == 1 {
            gru.states_to_tensor(&states)?
        } else {
            Tensor::stack(&states.iter().map(GRUState::h).collect::<Vec<_>>(), 1)?
        };
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
        {% if joined == 1 %}
        let joined = gru.states_to_tensor(&states)?;
        {% else %}
        let joined = Tensor::stack(&states.iter().map(|state| state.h()).collect::<Vec<_>>(), 1)?;
        {% endif %}
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
    reference: Some(&|inputs| {
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
    promise: "candle-nn/src/rnn.rs:254-400, candle-nn/tests/rnn.rs, which holds PyTorch's results; torch.nn.GRU with \
        `batch_first`, as the LSTM's `states_to_tensor`: (N, T, H)",
};
