//! A caller's op, in place.

use candle_core::Tensor;

use crate::case::{Backward, Case, InputSpec, ParamSpec};
use crate::ops::custom::apply_op::{arity, draw_product, product, product_contract};
use crate::ops::support::arguments::ANY;
use crate::ops::support::dtypes::FLOATS;
use crate::ops::support::products::custom_ops::Product;
use crate::ops::{Contract, Op, rule, why};

/// `x.inplace_op1(&op)`, `x.inplace_op2(&y, &op)` or `x.inplace_op3(&y, &z, &op)` of an op that writes `x x`, `x y` or
/// `x y + z` to every element of the view `x`, and nothing around it.
pub static INPLACE_OP: Op = Op {
    name: "custom.inplace_op",
    covers: &[
        "Tensor::inplace_op1",
        "Tensor::inplace_op2",
        "Tensor::inplace_op3",
        "InplaceOp1",
        "InplaceOp2",
        "InplaceOp3",
    ],
    support: FLOATS,
    inputs: &[
        ANY,
        InputSpec::new("y", "shaped as `x`").unless("arity", "one"),
        InputSpec::new("z", "shaped as `x`").when("arity", "three"),
    ],
    params: &[ParamSpec::word("arity", &["one", "two", "three"], "How many tensors the op takes.")],
    generate: &|draw| {
        let mut case = Case { backward: Backward::None, ..draw_product(draw)? };
        // A place that is written twice is refused: few cases have one.
        let keeps = !draw.one_in(8)?;
        if let Some(x) = case.inputs.get_mut("x").filter(|x| keeps && !x.view.broadcast.is_empty()) {
            *x = draw.tensor_in(x.dtype, &x.shape, crate::tensor::View::default())?;
        }
        Ok(case)
    },
    contract: &|case| match product_contract(case) {
        Contract::Accepts { outputs, refusal } => {
            let x = case.tensor("x");
            let twice = x.is_some_and(|x| x.view.broadcast.iter().any(|&dim| x.shape[dim] > 1));
            let outputs = outputs.iter().cycle().take(2).cloned().collect();
            let shared = ["y", "z"].iter().any(|name| case.is_shared(name));
            let accepts = Contract::Accepts { outputs, refusal }.may_refuse(shared, why::SHARED);
            if twice { Contract::Rejects(&rule::WRITTEN_TWICE) } else { accepts }
        }
        other => other,
    },
    call: &|call| {
        let x = call.tensor("x")?;
        // The other half shares the storage and must keep its values.
        let both = Tensor::stack(&[x, x], 0)?;
        let set = if x.is_contiguous() { both.get(0)? } else { x.clone() };
        match arity(call.case) {
            3 => set.inplace_op3(call.tensor("y")?, call.tensor("z")?, &Product)?,
            2 => set.inplace_op2(call.tensor("y")?, &Product)?,
            _ => set.inplace_op1(&Product)?,
        }
        Ok(vec![set, both.get(1)?])
    },
    source: r#"
        {% include "product in place" %}
        {% set count = {"one": 1, "two": 2, "three": 3}[arity] %}
        // The other half shares the storage and must keep its values.
        let both = Tensor::stack(&[&x, &x], 0)?;
        let set = if x.is_contiguous() { both.get(0)? } else { x };
        set.inplace_op{{ count }}({{ ["", "&y, ", "&y, &z, "][count - 1] }}&Product)?;
        let outputs = [set, both.get(1)?];
    "#,
    torch: "
        kept = x.clone()
        {% if arity == 'three' %}
        x.mul_(y).add_(z)
        {% else %}
        x.mul_({{ 'y' if arity == 'two' else 'x.clone()' }})
        {% endif %}
        outputs = [x, kept]
    ",
    reference: Some(&|inputs| [product(inputs), vec![inputs.array("x")]].concat()),
    ulps: 4.0,
    differentiable: &[],
    promise: "candle-core/src/custom_op.rs:595-606 (a tensor with repeated elements is rejected, as in PyTorch), \
              661-676 \
              (\"in place (for the first tensor)\")",
};
