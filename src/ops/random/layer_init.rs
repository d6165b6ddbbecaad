//! The variables that a layer makes when it is built without any.

use std::collections::BTreeMap;

use candle_core::{Error, Result, Tensor};
use candle_nn::{Conv1dConfig, Conv2dConfig, ConvTranspose1dConfig, ConvTranspose2dConfig};
use candle_nn::{GRUConfig, LSTMConfig, VarBuilder, VarMap, gru, lstm};

use crate::case::{Case, ParamSpec};
use crate::ops::support::arguments::DTYPE;
use crate::ops::support::call::candle_dtype;
use crate::ops::support::elements::creation::dtype;
use crate::ops::support::elements::random_facts::{Distribution, FACTS, all_hold, facts, facts_contract, facts_of};
use crate::ops::{Contract, Op, why};
use crate::tensor::{DType, Support};

const LAYERS: &[&str] = &[
    "linear",
    "linear_no_bias",
    "conv1d",
    "conv1d_no_bias",
    "conv2d",
    "conv2d_no_bias",
    "conv_transpose1d",
    "conv_transpose1d_no_bias",
    "conv_transpose2d",
    "conv_transpose2d_no_bias",
    "embedding",
    "layer_norm",
    "layer_norm_no_bias",
    "rms_norm",
    "batch_norm",
    "group_norm",
    "prelu",
    "lstm",
    "lstm_no_bias",
    "gru",
    "gru_no_bias",
];

const SUPPORT: &Support = &Support { of: "dtype", cpu: &DType::FLOATS_AND_F8, cuda: &DType::FLOATS };

/// The side of every convolution's kernel.
const SIDE: usize = 3;

/// Builds a layer with a `VarMap` that is empty, by the param `layer`: shape, dtype and distribution of all its variables.
pub static LAYER_INIT: Op = Op {
    name: "random.layer_init",
    covers: &[
        "VarMap",
        "activation::prelu",
        "batch_norm::batch_norm",
        "conv::conv1d",
        "conv::conv2d",
        "embedding::embedding",
        "group_norm::group_norm",
        "layer_norm::layer_norm",
        "layer_norm::layer_norm_no_bias",
        "layer_norm::rms_norm",
        "VarBuilder::from_varmap",
        "VarMap::new",
        "VarMap::get",
        "VarMap::data",
    ],
    support: SUPPORT,
    inputs: &[],
    params: &[
        DTYPE,
        ParamSpec::size("in_size", 1, "The features, channels or entries that the layer takes."),
        ParamSpec::word("layer", LAYERS, "The function that builds the layer."),
        ParamSpec::size("out_size", 1, "The size of its output, or the hidden size of a recurrent layer."),
    ],
    generate: &|draw| {
        let (dtype, layer) = (draw.dtype(SUPPORT)?, *draw.choose(LAYERS)?);
        // Mean and variance mean something for many values.
        let (inputs, outputs) = if draw.one_in(2)? { (draw.between(1, 4)?, 64) } else { (draw.size()?, draw.size()?) };
        let case = Case::default().param("dtype", dtype.name()).param("layer", layer);
        Ok(case.param("in_size", inputs.min(300)).param("out_size", outputs.min(300)))
    },
    contract: &|case| {
        let sizes = sizes(case);
        if sizes.contains(&0) {
            return Contract::Unspecified("an empty layer");
        }
        if sizes.iter().any(|&size| size > 1 << 10) {
            return Contract::Unspecified(why::TOO_LARGE);
        }
        facts_contract(Contract::accepts(dtype(case), &[]))
    },
    call: &|call| {
        let variables = VarMap::new();
        let vb = VarBuilder::from_varmap(&variables, candle_dtype(dtype(call.case)), call.device);
        build(call.case, vb)?;
        let made: BTreeMap<String, Tensor> = {
            let data = variables.data().lock().map_err(|error| Error::Msg(error.to_string()))?;
            data.iter().map(|(name, var)| (name.clone(), var.as_tensor().clone())).collect()
        };
        let expected = expected(call.case);
        let mut all = [made.len() == expected.len(), true, true];
        for (name, shape, distribution) in &expected {
            let of_one = match made.get(*name) {
                Some(variable) => facts_of(variable, shape, dtype(call.case), distribution)?,
                None => [false; FACTS],
            };
            all = std::array::from_fn(|fact| all[fact] && of_one[fact]);
        }
        facts(all)
    },
    source: r#"
        let variables = candle_nn::VarMap::new();
        let vb = candle_nn::VarBuilder::from_varmap(&variables, {{ dtype|dtype }}, &device);
        {% if "conv" in layer %}
        candle_nn::{{ layer }}({{ in_size }}, {{ out_size }}, 3, Default::default(), vb)?;
        {% elif layer in ["linear", "linear_no_bias", "embedding"] %}
        candle_nn::{{ layer }}({{ in_size }}, {{ out_size }}, vb)?;
        {% elif layer == "group_norm" %}
        candle_nn::group_norm(1, {{ out_size }}, 1e-5, vb)?;
        {% elif layer == "prelu" %}
        candle_nn::prelu(Some({{ out_size }}), vb)?;
        {% elif "norm" in layer %}
        candle_nn::{{ layer }}({{ out_size }}, 1e-5, vb)?;
        {% else %}
        {% set config = "LSTMConfig" if "lstm" in layer else "GRUConfig" %}
        {% set config = config ~ "::default" ~ ("_no_bias()" if "no_bias" in layer else "()") %}
        candle_nn::{{ layer|replace("_no_bias", "") }}({{ in_size }}, {{ out_size }}, candle_nn::{{ config }}, vb)?;
        {% endif %}
        println!("{:?}", variables.data().lock().unwrap());
    "#,
    // PyTorch draws other numbers.
    torch: "",
    reference: Some(&all_hold),
    ulps: 4.0,
    differentiable: &[],
    promise: "the defaults in \
              candle-nn/src/{linear,conv,embedding,layer_norm,batch_norm,group_norm,activation,rnn}.rs; \
        torch.nn has the same constants for the norms and PReLU, and the same distribution for embeddings, biases, and \
        weights of transposed convolutions (torch.nn.Conv2d: biases within 1 / sqrt(in_channels * kernel)); the others are \
        candle's own choice",
};

/// The params `in_size` and `out_size`.
fn sizes(case: &Case) -> [usize; 2] {
    ["in_size", "out_size"].map(|name| case.size(name))
}

fn build(case: &Case, vb: VarBuilder) -> Result<()> {
    let ([inputs, outputs], eps) = (sizes(case), 1e-5);
    match case.text("layer") {
        "linear_no_bias" => drop(candle_nn::linear_no_bias(inputs, outputs, vb)?),
        "conv1d" => drop(candle_nn::conv1d(inputs, outputs, SIDE, Conv1dConfig::default(), vb)?),
        "conv1d_no_bias" => drop(candle_nn::conv1d_no_bias(inputs, outputs, SIDE, Conv1dConfig::default(), vb)?),
        "conv2d" => drop(candle_nn::conv2d(inputs, outputs, SIDE, Conv2dConfig::default(), vb)?),
        "conv2d_no_bias" => drop(candle_nn::conv2d_no_bias(inputs, outputs, SIDE, Conv2dConfig::default(), vb)?),
        "conv_transpose1d" => {
            drop(candle_nn::conv_transpose1d(inputs, outputs, SIDE, ConvTranspose1dConfig::default(), vb)?);
        }
        "conv_transpose1d_no_bias" => {
            drop(candle_nn::conv_transpose1d_no_bias(inputs, outputs, SIDE, ConvTranspose1dConfig::default(), vb)?);
        }
        "conv_transpose2d" => {
            drop(candle_nn::conv_transpose2d(inputs, outputs, SIDE, ConvTranspose2dConfig::default(), vb)?);
        }
        "conv_transpose2d_no_bias" => {
            drop(candle_nn::conv_transpose2d_no_bias(inputs, outputs, SIDE, ConvTranspose2dConfig::default(), vb)?);
        }
        "embedding" => drop(candle_nn::embedding(inputs, outputs, vb)?),
        "layer_norm" => drop(candle_nn::layer_norm(outputs, eps, vb)?),
        "layer_norm_no_bias" => drop(candle_nn::layer_norm_no_bias(outputs, eps, vb)?),
        "rms_norm" => drop(candle_nn::rms_norm(outputs, eps, vb)?),
        "batch_norm" => drop(candle_nn::batch_norm(outputs, eps, vb)?),
        "group_norm" => drop(candle_nn::group_norm(1, outputs, eps, vb)?),
        "prelu" => drop(candle_nn::prelu(Some(outputs), vb)?),
        "lstm" => drop(lstm(inputs, outputs, LSTMConfig::default(), vb)?),
        "lstm_no_bias" => drop(lstm(inputs, outputs, LSTMConfig::default_no_bias(), vb)?),
        "gru" => drop(gru(inputs, outputs, GRUConfig::default(), vb)?),
        "gru_no_bias" => drop(gru(inputs, outputs, GRUConfig::default_no_bias(), vb)?),
        _ => drop(candle_nn::linear(inputs, outputs, vb)?),
    }
    Ok(())
}

/// Name, shape and distribution of every variable of the layer.
fn expected(case: &Case) -> Vec<(&'static str, Vec<usize>, Distribution)> {
    let [inputs, outputs] = sizes(case);
    let layer = case.text("layer");
    let around_zero = |bound: f64| Distribution::uniform(-bound, bound);
    let kaiming = |fan: usize| (2.0 / fan as f64).sqrt();
    let root = |fan: usize| 1.0 / (fan as f64).sqrt();
    let vector = |name, value| (name, vec![outputs], Distribution::constant(value));
    let dimensions = if layer.contains("2d") { 2 } else { 1 };
    let kernel = SIDE.pow(dimensions);
    let shape = |first: usize, second: usize| [vec![first, second], vec![SIDE; dimensions as usize]].concat();
    let mut all = match layer {
        "embedding" => vec![("weight", vec![inputs, outputs], Distribution::normal(0.0, 1.0))],
        "layer_norm_no_bias" | "rms_norm" => vec![vector("weight", 1.0)],
        "layer_norm" | "group_norm" => vec![vector("weight", 1.0), vector("bias", 0.0)],
        "batch_norm" => {
            let running = [vector("running_mean", 0.0), vector("running_var", 1.0)];
            running.into_iter().chain([vector("weight", 1.0), vector("bias", 0.0)]).collect()
        }
        "prelu" => vec![vector("weight", 0.25)],
        "lstm" | "lstm_no_bias" | "gru" | "gru_no_bias" => return recurrent(layer, inputs, outputs),
        _ if layer.starts_with("conv_transpose") => {
            vec![("weight", shape(inputs, outputs), around_zero(root(outputs.saturating_mul(kernel))))]
        }
        _ if layer.starts_with("conv") => {
            vec![("weight", shape(outputs, inputs), Distribution::normal(0.0, kaiming(inputs.saturating_mul(kernel))))]
        }
        _ => vec![("weight", vec![outputs, inputs], Distribution::normal(0.0, kaiming(inputs)))],
    };
    let has_random_bias = layer == "linear" || layer.starts_with("conv");
    if has_random_bias && !layer.ends_with("no_bias") {
        let fan = match layer {
            "linear" => inputs,
            _ if layer.starts_with("conv_transpose") => outputs.saturating_mul(kernel),
            // A few biases may lie within the bound by chance.
            _ if outputs < 64 => inputs,
            _ => inputs.saturating_mul(kernel),
        };
        all.push(("bias", vec![outputs], around_zero(root(fan))));
    }
    all
}

/// The weights of all gates of an LSTM or a GRU, and its biases.
fn recurrent(layer: &str, inputs: usize, hidden: usize) -> Vec<(&'static str, Vec<usize>, Distribution)> {
    let rows = hidden.saturating_mul(if layer.starts_with("lstm") { 4 } else { 3 });
    let bound = |fan: usize| (6.0 / fan as f64).sqrt();
    let weight = |name, fan| (name, vec![rows, fan], Distribution::uniform(-bound(fan), bound(fan)));
    let mut all = vec![weight("weight_ih_l0", inputs), weight("weight_hh_l0", hidden)];
    if !layer.ends_with("no_bias") {
        all.extend(["bias_ih_l0", "bias_hh_l0"].map(|name| (name, vec![rows], Distribution::constant(0.0))));
    }
    all
}
