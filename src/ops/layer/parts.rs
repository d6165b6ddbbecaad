//! What layers give back of what they are made of.

use candle_core::{Result, Tensor};
use candle_nn::{
    BatchNorm, Conv1d, Conv2d, ConvTranspose1d, ConvTranspose2d, Embedding, LayerNorm, Linear, PReLU, RmsNorm,
};

use crate::case::{Backward, Case, InputSpec, ParamSpec};
use crate::number::Num;
use crate::ops::{Call, Contract, Op, rule, why};
use crate::tensor::{DType, Support};

const FORMS: &[&str] = &[
    "Linear",
    "Conv1d",
    "Conv2d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "LayerNorm",
    "RmsNorm",
    "BatchNorm",
    "PReLU",
    "Embedding",
];

/// The weight and the bias that a layer is made of, and a number of its configuration: 1.
pub static PARTS: Op = Op {
    name: "layer.parts",
    covers: &[
        "Linear::weight",
        "Linear::bias",
        "Conv1d::weight",
        "Conv1d::bias",
        "Conv1d::config",
        "Conv2d::weight",
        "Conv2d::bias",
        "Conv2d::config",
        "ConvTranspose1d::weight",
        "ConvTranspose1d::bias",
        "ConvTranspose1d::config",
        "ConvTranspose2d::weight",
        "ConvTranspose2d::bias",
        "ConvTranspose2d::config",
        "LayerNorm::weight",
        "LayerNorm::bias",
        "LayerNorm::eps",
        "LayerNorm::remove_mean",
        "RmsNorm::weight",
        "RmsNorm::eps",
        "RmsNorm::into_inner",
        "BatchNorm::weight_and_bias",
        "BatchNorm::eps",
        "BatchNorm::momentum",
        "PReLU::weight",
        "PReLU::is_scalar",
        "Embedding::embeddings",
        "Embedding::hidden_size",
    ],
    support: &Support { of: "weight", cpu: &DType::FLOATS_AND_F8, cuda: &DType::FLOATS },
    inputs: &[
        InputSpec::new("weight", "(N), the weight of the layer, in its own shape if it has more dimensions"),
        InputSpec::new("bias", "(N), another part of the layer"),
    ],
    params: &[ParamSpec::word("layer", FORMS, "The layer.")],
    generate: &|draw| {
        let (dtype, size) = (draw.dtype(PARTS.support)?, draw.positive()?);
        let case = Case { backward: Backward::None, ..Case::default() };
        let case = case.input("weight", draw.tensor(dtype, &[size])?).input("bias", draw.tensor(dtype, &[size])?);
        Ok(case.param("layer", *draw.choose(FORMS)?))
    },
    contract: &|case| {
        let (Some(weight), Some(bias)) = (case.tensor("weight"), case.tensor("bias")) else {
            return Contract::Rejects(&rule::SHAPES);
        };
        if weight.shape.len() != 1 || bias.shape != weight.shape || bias.dtype != weight.dtype {
            return Contract::Unspecified(why::NO_CALL);
        }
        if !weight.dtype.is_float() {
            return Contract::Unspecified("gradients of integers");
        }
        let part = (weight.dtype, weight.shape.clone());
        let accepts = Contract::Accepts { outputs: vec![part.clone(), part, (DType::F64, vec![1])], refusal: None };
        accepts.may_refuse(weight.shape[0] == 0 && case.text("layer") == "BatchNorm", "no channels")
    },
    call: &|call| parts(call),
    source: r#"
        {% set shape = {"Linear": "(n, 1)", "Embedding": "(n, 1)", "Conv2d": "(n, 1, 1, 1)", "ConvTranspose2d": "(1, n, 1, 1)",
            "Conv1d": "(n, 1, 1)", "ConvTranspose1d": "(1, n, 1)"}[layer]|default("n") %}
        let n = {{ inputs.weight.shape[0] }};
        let own = weight.reshape({{ shape }})?;
        {% if layer == "Linear" %}
        let layer = candle_nn::Linear::new(own, Some(bias));
        let (weight, bias, number) = (layer.weight().clone(), layer.bias().expect("a bias").clone(), 1.0);
        {% elif layer in ["Conv1d", "Conv2d", "ConvTranspose1d", "ConvTranspose2d"] %}
        let layer = candle_nn::{{ layer }}::new(own, Some(bias), Default::default());
        let (weight, bias) = (layer.weight().clone(), layer.bias().expect("a bias").clone());
        let number = layer.config().stride as f64;
        {% elif layer == "LayerNorm" %}
        let layer = candle_nn::LayerNorm::new(own, bias, 1.0);
        let (weight, bias) = (layer.weight().clone(), layer.bias().expect("a bias").clone());
        let number = layer.eps() * f64::from(u8::from(layer.remove_mean()));
        {% elif layer == "RmsNorm" %}
        let layer = candle_nn::RmsNorm::new(own, 1.0);
        let (weight, number) = (layer.weight().clone(), layer.eps());
        let bias = candle_nn::RmsNorm::new(bias, 1.0).into_inner().weight().clone();
        {% elif layer == "BatchNorm" %}
        let layer = candle_nn::BatchNorm::new_with_momentum(n, bias.abs()?, bias.abs()?, own, bias, 1.0, 1.0)?;
        let (weight, bias) = layer.weight_and_bias().expect("both");
        let (weight, bias, number) = (weight.clone(), bias.clone(), layer.eps() * layer.momentum());
        {% elif layer == "PReLU" %}
        let layer = candle_nn::PReLU::new(own, true);
        let (weight, number) = (layer.weight().clone(), f64::from(u8::from(layer.is_scalar())));
        {% else %}
        let layer = candle_nn::Embedding::new(own, 1);
        let (weight, number) = (layer.embeddings().clone(), layer.hidden_size() as f64);
        {% endif %}
        let outputs = [weight.reshape(n)?, bias, Tensor::new(&[number], &device)?];
    "#,
    // PyTorch's layers are classes with attributes.
    torch: "",
    reference: Some(&|inputs| {
        vec![inputs.array("weight"), inputs.array("bias"), ndarray::arr1(&[Num::exact(1.0)]).into_dyn()]
    }),
    ulps: 1.0,
    differentiable: &[],
    promise: "candle-nn/src/linear.rs:27-41, conv.rs, layer_norm.rs, batch_norm.rs, activation.rs:79-86, \
              embedding.rs:15-27 \
              (methods named after what the constructor takes), as the attributes of torch.nn's layers",
};

fn parts(call: &Call) -> Result<Vec<Tensor>> {
    let (weight, bias) = (call.tensor("weight")?, call.tensor("bias")?.clone());
    let n = weight.elem_count();
    let lacks = || candle_core::Error::Msg("the layer lacks a bias".to_string());
    macro_rules! convolution {
        ($layer:ident, $shape:expr) => {{
            let layer = $layer::new(weight.reshape($shape)?, Some(bias), Default::default());
            let stride = layer.config().stride as f64;
            (layer.weight().clone(), layer.bias().cloned().ok_or_else(lacks)?, stride)
        }};
    }
    let (weight, bias, number) = match call.case.text("layer") {
        "Conv1d" => convolution!(Conv1d, (n, 1, 1)),
        "Conv2d" => convolution!(Conv2d, (n, 1, 1, 1)),
        "ConvTranspose1d" => convolution!(ConvTranspose1d, (1, n, 1)),
        "ConvTranspose2d" => convolution!(ConvTranspose2d, (1, n, 1, 1)),
        "LayerNorm" => {
            let layer = LayerNorm::new(weight.clone(), bias, 1.0);
            let number = layer.eps() * f64::from(u8::from(layer.remove_mean()));
            (layer.weight().clone(), layer.bias().cloned().ok_or_else(lacks)?, number)
        }
        "RmsNorm" => {
            let layer = RmsNorm::new(weight.clone(), 1.0);
            (layer.weight().clone(), RmsNorm::new(bias, 1.0).into_inner().weight().clone(), layer.eps())
        }
        "BatchNorm" => {
            let running = bias.abs()?;
            let layer = BatchNorm::new_with_momentum(n, running.clone(), running, weight.clone(), bias, 1.0, 1.0)?;
            let (weight, bias) = layer.weight_and_bias().ok_or_else(lacks)?;
            (weight.clone(), bias.clone(), layer.eps() * layer.momentum())
        }
        "PReLU" => {
            let layer = PReLU::new(weight.clone(), true);
            (layer.weight().clone(), bias, f64::from(u8::from(layer.is_scalar())))
        }
        "Embedding" => {
            let layer = Embedding::new(weight.reshape((n, 1))?, 1);
            (layer.embeddings().clone(), bias, layer.hidden_size() as f64)
        }
        _ => {
            let layer = Linear::new(weight.reshape((n, 1))?, Some(bias));
            (layer.weight().clone(), layer.bias().cloned().ok_or_else(lacks)?, 1.0)
        }
    };
    Ok(vec![weight.reshape(n)?, bias, Tensor::new(&[number], call.device)?])
}
