//! The layer `Activation`.

use candle_core::Module;
use candle_nn::Activation;

use crate::case::{Case, ParamSpec};
use crate::number::Num;
use crate::ops::op::swiglu::SWIGLU;
use crate::ops::support::arguments::ANY;
use crate::ops::support::dtypes::FLOATS;
use crate::ops::support::elements::activation::{hard_sigmoid, leaky_relu, swiglu, unspecified_constant};
use crate::ops::support::elements::elementwise::elu;
use crate::ops::support::elements::elementwise::{case, elementwise, of_floats};
use crate::ops::support::reference_inputs::each;
use crate::ops::{Contract, Op, why};

/// The variants of `Activation` by the param `kind`; `Elu` and `LeakyRelu` take the param `alpha`.
pub static ACTIVATION: Op = Op {
    name: "layer.activation",
    covers: &["Activation"],
    support: FLOATS,
    inputs: &[ANY],
    params: &[
        ParamSpec::float("alpha", 1.0, "The factor of `elu` and `leakyrelu`."),
        ParamSpec::word("kind", &KINDS, "The variant.").required(),
    ],
    generate: &|draw| {
        let kind = *draw.choose(&KINDS)?;
        let alpha = *draw.choose(&[1.0, 0.5, 0.25])?;
        let case = if kind == "swiglu" { (SWIGLU.generate)(draw)? } else { case(draw, FLOATS)? };
        Ok(case.param("kind", kind).param("alpha", alpha))
    },
    contract: &|case| {
        if !KINDS.contains(&case.text("kind")) {
            return Contract::Unspecified(why::NO_CALL);
        }
        if matches!(case.text("kind"), "elu" | "leakyrelu")
            && let Some(contract) = unspecified_constant(case, "alpha")
        {
            return contract;
        }
        match case.text("kind") {
            "swiglu" => SWIGLU.contract(case),
            // Functions of integers, too.
            "relu" | "relu6" => elementwise(case),
            _ => of_floats(case),
        }
    },
    call: &|call| Ok(vec![activation(call.case).forward(call.tensor("x")?)?]),
    source: r#"
        {% set names = {
            "newgelu": "NewGelu", "relu": "Relu", "relu2": "Relu2", "relu6": "Relu6", "silu": "Silu",
            "sigmoid": "Sigmoid", "hardsigmoid": "HardSigmoid", "swiglu": "Swiglu", "swish": "Swish", "mish": "Mish",
            "hardswish": "HardSwish", "elu": "Elu", "leakyrelu": "LeakyRelu", "gelupytorchtanh": "GeluPytorchTanh",
        } %}
        {% set alpha = "(" ~ alpha ~ ")" if kind in ["elu", "leakyrelu"] else "" %}
        candle_nn::Activation::{{ names[kind]|default("Gelu") }}{{ alpha }}.forward(&x)?
    "#,
    torch: r#"
        {% set calls = {
            "newgelu": "F.gelu(x, approximate=\"tanh\")", "gelupytorchtanh": "F.gelu(x, approximate=\"tanh\")",
            "relu": "F.relu(x)", "relu2": "F.relu(x).square()", "relu6": "F.relu6(x)", "silu": "F.silu(x)",
            "swish": "F.silu(x)", "sigmoid": "torch.sigmoid(x)", "hardsigmoid": "F.hardsigmoid(x)", "mish": "F.mish(x)",
            "hardswish": "F.hardswish(x)", "elu": "F.elu(x, " ~ alpha ~ ")", "leakyrelu": "F.leaky_relu(x, " ~ alpha ~ ")",
        } %}
        {% if kind == "swiglu" %}
        {% include "op.swiglu" %}
        {% else %}
        {{ calls[kind]|default("F.gelu(x)") }}
        {% endif %}
    "#,
    reference: Some(&|inputs| {
        if inputs.case.text("kind") == "swiglu" {
            return swiglu(inputs);
        }
        each(inputs, "x", |x| activated(inputs.case, x))
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-nn/src/activation.rs:5-52: the variants are named after their functions; torch.nn.functional; NewGelu \
              as in GPT-2, Relu2 after So et al. (2021, Primer), Swiglu after Shazeer (2020)",
};

/// The variants of `Activation` as serde names them, without aliases.
const KINDS: [&str; 15] = [
    "gelu",
    "newgelu",
    "relu",
    "relu2",
    "relu6",
    "silu",
    "sigmoid",
    "hardsigmoid",
    "swiglu",
    "swish",
    "mish",
    "hardswish",
    "elu",
    "leakyrelu",
    "gelupytorchtanh",
];

/// The layer that the case names.
fn activation(case: &Case) -> Activation {
    let alpha = case.float("alpha");
    match case.text("kind") {
        "newgelu" => Activation::NewGelu,
        "relu" => Activation::Relu,
        "relu2" => Activation::Relu2,
        "relu6" => Activation::Relu6,
        "silu" => Activation::Silu,
        "sigmoid" => Activation::Sigmoid,
        "hardsigmoid" => Activation::HardSigmoid,
        "swiglu" => Activation::Swiglu,
        "swish" => Activation::Swish,
        "mish" => Activation::Mish,
        "hardswish" => Activation::HardSwish,
        "elu" => Activation::Elu(alpha),
        "leakyrelu" => Activation::LeakyRelu(alpha),
        "gelupytorchtanh" => Activation::GeluPytorchTanh,
        _ => Activation::Gelu,
    }
}

/// One element of its output.
fn activated(case: &Case, x: Num) -> Num {
    let (zero, alpha) = (Num::exact(0.0), case.float("alpha"));
    match case.text("kind") {
        "newgelu" | "gelupytorchtanh" => x.gelu(),
        "relu" => x.max(zero),
        "relu2" => x.max(zero).sqr(),
        "relu6" => x.max(zero).min(Num::exact(6.0)),
        "silu" | "swish" => x.silu(),
        "sigmoid" => x.sigmoid(),
        "hardsigmoid" => hard_sigmoid(x),
        "mish" => x.mish(),
        "hardswish" => x * hard_sigmoid(x),
        "elu" => elu(x, alpha),
        "leakyrelu" => leaky_relu(x, alpha),
        _ => x.gelu_erf(),
    }
}
