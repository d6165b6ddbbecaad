//! A caller's op, as a new tensor.

use std::sync::Arc;

use ndarray::{ArrayD, Zip};

use crate::case::{Backward, Case, InputSpec, ParamSpec};
use crate::generate::Draw;
use crate::number::Num;
use crate::ops::support::arguments::ANY;
use crate::ops::support::dtypes::FLOATS;
use crate::ops::support::elements::nonempty_floats::nonempty_contract;
use crate::ops::support::products::custom_ops::Product;
use crate::ops::{Contract, Op, ReferenceInputs, rule};

const INPUTS: &[InputSpec] = &[
    ANY,
    InputSpec::new("y", "shaped as `x`").unless("arity", "one"),
    InputSpec::new("z", "shaped as `x`").when("arity", "three"),
];

const ARITY: ParamSpec = ParamSpec::word("arity", &["one", "two", "three"], "How many tensors the op takes.");

/// `x.apply_op1(op)`, `x.apply_op2(&y, op)` or `x.apply_op3(&y, &z, op)` of an op that computes `x x`, `x y` or `x y + z` and
/// gives the gradients of `x` and `y`.
pub static APPLY_OP: Op = Op {
    name: "custom.apply_op",
    covers: &[
        "Tensor::apply_op1",
        "Tensor::apply_op2",
        "Tensor::apply_op3",
        "Tensor::apply_op1_arc",
        "Tensor::apply_op2_arc",
        "Tensor::apply_op3_arc",
        "CustomOp1",
        "CustomOp2",
        "CustomOp3",
    ],
    support: FLOATS,
    inputs: INPUTS,
    params: &[ARITY, ParamSpec::word("form", &["", "arc"], "The method: the op itself, or a shared one.")],
    generate: &|draw| {
        let case = draw_product(draw)?;
        Ok(if draw.one_in(3)? { case.param("form", "arc") } else { case })
    },
    contract: &product_contract,
    call: &|call| {
        let (x, shared) = (call.tensor("x")?, call.case.text("form") == "arc");
        Ok(vec![match arity(call.case) {
            3 if shared => x.apply_op3_arc(call.tensor("y")?, call.tensor("z")?, Arc::new(Box::new(Product)))?,
            3 => x.apply_op3(call.tensor("y")?, call.tensor("z")?, Product)?,
            2 if shared => x.apply_op2_arc(call.tensor("y")?, Arc::new(Box::new(Product)))?,
            2 => x.apply_op2(call.tensor("y")?, Product)?,
            _ if shared => x.apply_op1_arc(Arc::new(Box::new(Product)))?,
            _ => x.apply_op1(Product)?,
        }])
    },
    source: r#"
        {% include "product" %}
        {% set count = {"one": 1, "two": 2, "three": 3}[arity] %}
        {% set others = ["", "&y, ", "&y, &z, "][count - 1] %}
        {% set op = "std::sync::Arc::new(Box::new(Product))" if form == "arc" else "Product" %}
        x.apply_op{{ count }}{{ "_arc" if form == "arc" else "" }}({{ others }}{{ op }})?
    "#,
    torch: TORCH,
    reference: Some(&product),
    ulps: 4.0,
    differentiable: &["x", "y"],
    promise: PROMISE,
};

/// `x.apply_op1_no_bwd(&op)`, or that of two or three tensors: the same values as with `apply_op1`, without a gradient.
pub static APPLY_OP_NO_BWD: Op = Op {
    name: "custom.apply_op_no_bwd",
    covers: &["Tensor::apply_op1_no_bwd", "Tensor::apply_op2_no_bwd", "Tensor::apply_op3_no_bwd"],
    support: FLOATS,
    inputs: INPUTS,
    params: &[ARITY],
    generate: &|draw| Ok(Case { backward: Backward::None, ..draw_product(draw)? }),
    contract: &product_contract,
    call: &|call| {
        let x = call.tensor("x")?;
        Ok(vec![match arity(call.case) {
            3 => x.apply_op3_no_bwd(call.tensor("y")?, call.tensor("z")?, &Product)?,
            2 => x.apply_op2_no_bwd(call.tensor("y")?, &Product)?,
            _ => x.apply_op1_no_bwd(&Product)?,
        }])
    },
    source: r#"
        {% include "product" %}
        {% set count = {"one": 1, "two": 2, "three": 3}[arity] %}
        {% set others = ["", "&y, ", "&y, &z, "][count - 1] %}
        x.apply_op{{ count }}_no_bwd({{ others }}&Product)?
    "#,
    torch: TORCH,
    reference: Some(&product),
    ulps: 4.0,
    differentiable: &[],
    promise: PROMISE,
};

const TORCH: &str = "{{ 'x * y + z' if arity == 'three' else 'x * y' if arity == 'two' else 'x * x' }}";

const PROMISE: &str = "candle-core/src/custom_op.rs:8-164, backprop.rs:664-696 (\"Applies a unary custom op\": what the \
                       caller's functions compute and differentiate), as torch.autograd.Function does";

/// How many tensors the op takes.
pub fn arity(case: &Case) -> usize {
    match case.text("arity") {
        "three" => 3,
        "two" => 2,
        _ => 1,
    }
}

/// A case of one to three tensors.
pub fn draw_product(draw: &mut Draw) -> arbitrary::Result<Case> {
    let arity = *draw.choose(&["one", "two", "three"])?;
    let names = match arity {
        "three" => &["x", "y", "z"][..],
        "two" => &["x", "y"],
        _ => &["x"],
    };
    Ok(draw_alike(draw, 0, names)?.param("arity", arity))
}

/// A case of float tensors with these names and one shape of at least this rank, with elements.
pub fn draw_alike(draw: &mut Draw, rank: usize, names: &[&str]) -> arbitrary::Result<Case> {
    let (dtype, shape) = (draw.dtype(FLOATS)?, draw.shape(rank, 3)?);
    let shape: Vec<usize> = shape.into_iter().map(|size| size.max(1)).collect();
    let mut case = Case { backward: draw.backward()?, ..Case::default() };
    for name in names {
        case = case.input(name, draw.tensor(dtype, &shape)?);
    }
    Ok(case)
}

/// Accepts floats of one shape and dtype.
pub fn product_contract(case: &Case) -> Contract {
    let Some(x) = case.tensor("x") else { return Contract::Rejects(&rule::SHAPES) };
    let others = || ["y", "z"][..arity(case) - 1].iter().map(|name| case.tensor(name));
    if others().any(|other| other.is_none_or(|other| other.shape != x.shape)) {
        return Contract::Rejects(&rule::SHAPES);
    }
    if others().flatten().any(|other| other.dtype != x.dtype) {
        return Contract::Rejects(&rule::MIXED);
    }
    nonempty_contract(case, "a product without elements")
}

/// `x x`, `x y` or `x y + z`.
pub fn product(inputs: &ReferenceInputs) -> Vec<ArrayD<Num>> {
    let x = inputs.array("x");
    let y = if arity(inputs.case) > 1 { inputs.array("y") } else { x.clone() };
    let product = Zip::from(&x).and(&y).map_collect(|&x, &y| x * y);
    vec![match arity(inputs.case) {
        3 => Zip::from(&product).and(&inputs.array("z")).map_collect(|&product, &z| product + z),
        _ => product,
    }]
}
