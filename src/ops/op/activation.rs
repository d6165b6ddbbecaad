//! Activations of `candle_nn`: functions of `ops`, the layer `Activation`, `PReLU`, `Identity` and `Sequential`.

use candle_core::Module;
use candle_nn::{Activation, ops};
use ndarray::{ArrayD, Axis, Slice};

use crate::case::Case;
use crate::number::Num;
use crate::ops::support::elementwise::{case, elu, holds_number, of_floats};
use crate::ops::support::reference_inputs::{each, pairs};
use crate::ops::{Contract, Op, ReferenceInputs, why};
use crate::tensor::{DType, Support, Tensor};

const FLOATS: &Support = &Support::both("x", &DType::FLOATS);
const WITH_F8: &Support = &Support { of: "x", cpu: &DType::FLOATS_AND_F8, cuda: &DType::FLOATS };
const NO_HALF: &str = "an odd last dimension";

macro_rules! activations {
    ($($(#[$doc:meta])* $name:ident = $function:ident, $torch:literal, $support:ident, $contract:expr, $value:expr;)*) => {$(
        $(#[$doc])*
        pub static $name: Op = Op {
    name: concat!("op.", stringify!($function)),
    covers: &[concat!("ops::", stringify!($function))],
    support: $support,
    generate: |draw| case(draw, $support),
    contract: $contract,
    call: |call| Ok(vec![ops::$function(call.tensor("x")?)?]),
    source: concat!("candle_nn::ops::", stringify!($function), "(&x)?"),
    torch: $torch,
    reference: Some(|inputs| each(inputs, "x", $value)),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-nn/src/ops.rs:41-255; the torch.nn.functional functions of these names",
};
    )*};
}

activations! {
    /// `1 / (1 + e^-x)`.
    SIGMOID = sigmoid, "torch.sigmoid(x)", FLOATS, of_floats, Num::sigmoid;
    /// `x sigmoid(x)`.
    SILU = silu, "F.silu(x)", WITH_F8, of_floats, Num::silu;
    /// `(x + 3) / 6`, from 0 to 1.
    HARD_SIGMOID = hard_sigmoid, "F.hardsigmoid(x)", WITH_F8, of_floats, hard_sigmoid;
    /// `x tanh(ln(1 + e^x))`.
    MISH = mish, "F.mish(x)", WITH_F8, of_floats, Num::mish;
}

/// `candle_nn::ops::leaky_relu(x, negative_slope)`: `x` above 0, else `negative_slope x`.
pub static LEAKY_RELU: Op = Op {
    name: "op.leaky_relu",
    covers: &["ops::leaky_relu"],
    support: WITH_F8,
    generate: |draw| {
        let slope = *draw.choose(&[0.25, 0.5, 0.01, 0.0, 1.0, -1.0])?;
        Ok(case(draw, WITH_F8)?.param("negative_slope", slope))
    },
    contract: |case| ordinary(case, "negative_slope").unwrap_or_else(|| of_floats(case)),
    call: |call| Ok(vec![ops::leaky_relu(call.tensor("x")?, call.case.float("negative_slope", 0.0))?]),
    source: "candle_nn::ops::leaky_relu(&x, {{ negative_slope|default('0.0') }})?",
    torch: "F.leaky_relu(x, {{ negative_slope|default('0.0') }})",
    reference: Some(|inputs| each(inputs, "x", |x| leaky(x, inputs.case.float("negative_slope", 0.0)))),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-nn/src/ops.rs:193-196; torch.nn.LeakyReLU",
};

/// `candle_nn::ops::selu(x, alpha, gamma)`: `gamma x` above 0, else `gamma alpha (e^x - 1)`.
pub static SELU: Op = Op {
    name: "op.selu",
    covers: &["ops::selu"],
    support: &Support::both("x", &[DType::F32]),
    generate: |draw| {
        let (alpha, gamma) =
            *draw.choose(&[(1.673_263_242_354_377, 1.050_700_987_355_480_5), (1.0, 1.0), (2.0, 0.5)])?;
        Ok(case(draw, SELU.support)?.param("alpha", alpha).param("gamma", gamma))
    },
    contract: |case| ordinary(case, "alpha").or_else(|| ordinary(case, "gamma")).unwrap_or_else(|| of_floats(case)),
    call: |call| Ok(vec![ops::selu(call.tensor("x")?, single(call.case, "alpha"), single(call.case, "gamma"))?]),
    source: "candle_nn::ops::selu(&x, {{ alpha|default('1.0')|f32 }}, {{ gamma|default('1.0')|f32 }})?",
    torch: "{{ gamma|default('1.0') }} * F.elu(x, {{ alpha|default('1.0') }})",
    reference: Some(|inputs| {
        let (alpha, gamma) = (single(inputs.case, "alpha"), single(inputs.case, "gamma"));
        each(inputs, "x", |x| elu(x, f64::from(alpha)) * Num::exact(f64::from(gamma)))
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-nn/src/ops.rs:198-206; torch.nn.SELU",
};

/// `candle_nn::ops::swiglu(x)`: `silu` of the first half of the last dimension times the second half.
pub static SWIGLU: Op = Op {
    name: "op.swiglu",
    covers: &["ops::swiglu"],
    support: WITH_F8,
    generate: |draw| {
        let dtype = draw.dtype(WITH_F8)?;
        let mut shape = draw.shape(0, 2)?;
        shape.push(2 * draw.positive()?);
        let mut case = Case::default().input("x", draw.tensor(dtype, &shape)?);
        case.backward = draw.backward()?;
        Ok(case)
    },
    contract: |case| match case.tensor("x") {
        Some(x) if x.dtype.is_float() => halved(x),
        _ => of_floats(case),
    },
    call: |call| Ok(vec![ops::swiglu(call.tensor("x")?)?]),
    source: "candle_nn::ops::swiglu(&x)?",
    torch: r"
        gate, value = x.chunk(2, dim=-1)
        F.silu(gate) * value
    ",
    reference: Some(swiglu),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-nn/src/ops.rs:45-48",
};

/// The variants of `Activation` by the param `kind`; `Elu` and `LeakyRelu` take the param `alpha`.
pub static ACTIVATION: Op = Op {
    name: "layer.activation",
    covers: &["Activation"],
    support: FLOATS,
    generate: |draw| {
        let kind = *draw.choose(&KINDS)?;
        let alpha = *draw.choose(&[1.0, 0.5, 0.25])?;
        let case = if kind == "swiglu" { (SWIGLU.generate)(draw)? } else { case(draw, FLOATS)? };
        Ok(case.param("kind", kind).param("alpha", alpha))
    },
    contract: |case| {
        if !KINDS.contains(&case.text("kind")) {
            return Contract::Unspecified("no activation");
        }
        if let Some(contract) = ordinary(case, "alpha") {
            return contract;
        }
        match case.tensor("x") {
            Some(x) if case.text("kind") == "swiglu" && x.dtype.is_float() => halved(x),
            _ => of_floats(case),
        }
    },
    call: |call| Ok(vec![activation(call.case).forward(call.tensor("x")?)?]),
    source: r#"
        {% set names = {
            "newgelu": "NewGelu", "relu": "Relu", "relu2": "Relu2", "relu6": "Relu6", "silu": "Silu",
            "sigmoid": "Sigmoid", "hardsigmoid": "HardSigmoid", "swiglu": "Swiglu", "swish": "Swish", "mish": "Mish",
            "hardswish": "HardSwish", "elu": "Elu", "leakyrelu": "LeakyRelu", "gelupytorchtanh": "GeluPytorchTanh",
        } %}
        {% set alpha = "(" ~ alpha|default("1.0") ~ ")" if kind in ["elu", "leakyrelu"] else "" %}
        candle_nn::Activation::{{ names[kind|default("gelu")]|default("Gelu") }}{{ alpha }}.forward(&x)?
    "#,
    torch: r#"
        {% set alpha = alpha|default("1.0") %}
        {% set calls = {
            "newgelu": "F.gelu(x, approximate=\"tanh\")", "gelupytorchtanh": "F.gelu(x, approximate=\"tanh\")",
            "relu": "F.relu(x)", "relu2": "F.relu(x).square()", "relu6": "F.relu6(x)", "silu": "F.silu(x)",
            "swish": "F.silu(x)", "sigmoid": "torch.sigmoid(x)", "hardsigmoid": "F.hardsigmoid(x)", "mish": "F.mish(x)",
            "hardswish": "F.hardswish(x)", "elu": "F.elu(x, " ~ alpha ~ ")", "leakyrelu": "F.leaky_relu(x, " ~ alpha ~ ")",
        } %}
        {% if kind == "swiglu" %}
        {% include "op.swiglu" %}
        {% else %}
        {{ calls[kind|default("gelu")]|default("F.gelu(x)") }}
        {% endif %}
    "#,
    reference: Some(|inputs| {
        if inputs.case.text("kind") == "swiglu" {
            return swiglu(inputs);
        }
        each(inputs, "x", |x| activated(inputs.case, x))
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-nn/src/activation.rs:5-52: the variants are named after their functions",
};

/// `PReLU::new(weight, is_scalar)` of `x`: `x` above 0, else `weight x`, with a weight for all, or one per entry of the
/// second dimension.
pub static PRELU: Op =
    Op {
        name: "layer.prelu",
        covers: &["PReLU"],
        support: WITH_F8,
        generate: |draw| {
            let dtype = draw.dtype(WITH_F8)?;
            let shape = draw.shape(2, 3)?;
            let scalar = draw.one_in(2)?;
            let weight = draw.tensor(dtype, &[if scalar { 1 } else { shape[1] }])?;
            let mut case = Case::default().input("x", draw.tensor(dtype, &shape)?).input("weight", weight);
            case.backward = draw.backward()?;
            Ok(case.param("is_scalar", i64::from(scalar)))
        },
        contract: |case| {
            let (Some(x), Some(weight)) = (case.tensor("x"), case.tensor("weight")) else {
                return Contract::Rejects(why::SHAPES);
            };
            if x.dtype != weight.dtype {
                let empty = x.shape.contains(&0);
                return if empty { Contract::Unspecified(why::MIXED) } else { Contract::Rejects(why::MIXED) };
            }
            if weight.values.listed().iter().any(|value| !value.as_f64().is_finite()) {
                return Contract::Unspecified("a weight that is no number");
            }
            if weight.shape == x.shape || weight.shape.len() > 1 || x.shape.len() < 2 {
                return Contract::Unspecified("a weight of another kind");
            }
            if weight.elements() != Some(if is_scalar(case) { 1 } else { x.shape[1] }) {
                return Contract::Rejects(why::SHAPES);
            }
            of_floats(case)
        },
        call: |call| {
            let layer = candle_nn::PReLU::new(call.tensor("weight")?.clone(), is_scalar(call.case));
            Ok(vec![layer.forward(call.tensor("x")?)?])
        },
        source: "candle_nn::PReLU::new(weight, {{ is_scalar|default(0) != 0 }}).forward(&x)?",
        torch: "F.prelu(x, weight)",
        reference: Some(|inputs| {
            let (x, weight) = (inputs.array("x"), inputs.array("weight"));
            let mut shape = vec![1; x.ndim()];
            shape[1] = weight.len();
            let weight = weight.into_shape_with_order(shape).expect("one weight, or one per channel");
            pairs(&x, &weight, |x, weight| {
                if x.value > 0.0 { x + Num::exact(0.0) } else { Num { kink: x.value == 0.0, ..x * weight } }
            })
        }),
        ulps: 4.0,
        differentiable: &["weight", "x"],
        promise: "candle-nn/src/activation.rs:54-107; torch.nn.PReLU",
    };

/// `Sequential` of `Identity`, and of closures that square and add 1: all outputs, and the last one again.
pub static SEQUENTIAL: Op = Op {
    name: "layer.sequential",
    covers: &["Sequential", "Func", "FuncT", "Identity", "Tensor::apply", "Tensor::apply_t"],
    support: WITH_F8,
    generate: |draw| case(draw, WITH_F8),
    contract: |case| match of_floats(case) {
        Contract::Accepts { outputs, refusal } => {
            Contract::Accepts { outputs: outputs.iter().cycle().take(5).cloned().collect(), refusal }
        }
        other => other,
    },
    call: |call| {
        let x = call.tensor("x")?;
        let layers = candle_nn::seq().add(candle_nn::ops::Identity::new()).add_fn(candle_core::Tensor::sqr);
        let layers = layers.add(candle_nn::func(|x| x + 1.0));
        let mut outputs = layers.forward_all(x)?;
        outputs.push(x.apply(&layers)?);
        let halved = candle_nn::func_t(|x, train| if train { x * 0.5 } else { Ok(x.clone()) });
        outputs.push(x.apply_t(&halved, true)?);
        Ok(outputs)
    },
    source: r"
        let layers = candle_nn::seq().add(candle_nn::ops::Identity::new()).add_fn(Tensor::sqr);
        let layers = layers.add(candle_nn::func(|x| x + 1.0));
        let mut outputs = layers.forward_all(&x)?;
        outputs.push(x.apply(&layers)?);
        let halved = candle_nn::func_t(|x, train| if train { x * 0.5 } else { Ok(x.clone()) });
        outputs.push(x.apply_t(&halved, true)?);
    ",
    torch: "",
    reference: Some(|inputs| {
        let x = inputs.array("x");
        let (square, next) = (x.mapv(Num::sqr), x.mapv(|x| x.sqr() + Num::exact(1.0)));
        let halved = x.mapv(|x| x * Num::exact(0.5));
        vec![x, square, next.clone(), next, halved]
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-nn/src/sequential.rs, func.rs, ops.rs (Identity)",
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

fn activation(case: &Case) -> Activation {
    let alpha = case.float("alpha", 1.0);
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

fn activated(case: &Case, x: Num) -> Num {
    let (zero, alpha) = (Num::exact(0.0), case.float("alpha", 1.0));
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
        "leakyrelu" => leaky(x, alpha),
        _ => x.gelu_erf(),
    }
}

fn hard_sigmoid(x: Num) -> Num {
    ((x + Num::exact(3.0)) / Num::exact(6.0)).max(Num::exact(0.0)).min(Num::exact(1.0))
}

fn leaky(x: Num, slope: f64) -> Num {
    if x.value > 0.0 {
        return x + Num::exact(0.0);
    }
    Num { kink: x.kink || x.value == 0.0, ..x * Num::constant(slope, x.unit) }
}

/// `silu(first) second` of the halves of the last dimension.
fn swiglu(inputs: &ReferenceInputs) -> Vec<ArrayD<Num>> {
    let x = inputs.array("x");
    let last = Axis(x.ndim().saturating_sub(1));
    let half = x.len_of(last) / 2;
    let part = |from: usize, to: usize| x.slice_axis(last, Slice::from(from..to)).to_owned();
    pairs(&part(0, half), &part(half, 2 * half), |gate, x| gate.silu() * x)
}

/// Half of the last dimension is left.
fn halved(x: &Tensor) -> Contract {
    let mut shape = x.shape.clone();
    match shape.last_mut() {
        None => Contract::Rejects(why::DIM),
        Some(size) if *size % 2 == 1 => Contract::Rejects(NO_HALF),
        Some(size) => {
            *size /= 2;
            Contract::accepts(x.dtype, &shape)
        }
    }
}

/// Why the constant of this name promises nothing, if so.
fn ordinary(case: &Case, name: &str) -> Option<Contract> {
    let value = case.float(name, 1.0);
    let ordinary =
        value == 0.0 || (1e-3..=1e3).contains(&value.abs()) || holds_number(case, value) && value.abs() < 1e3;
    (!ordinary).then_some(Contract::Unspecified("an extraordinary constant"))
}

fn single(case: &Case, name: &str) -> f32 {
    case.float(name, 1.0) as f32
}

fn is_scalar(case: &Case) -> bool {
    case.int("is_scalar", 0) != 0
}
