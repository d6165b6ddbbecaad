//! `nn::Linear`, made from its tensors or by a builder.

use candle_core::Module;
use ndarray::{ArrayD, Axis, IxDyn};

use crate::case::{Case, InputSpec, ParamSpec};
use crate::number::Num;
use crate::ops::support::dtypes::FLOATS;
use crate::ops::support::models::builder::builder;
use crate::ops::support::reference_inputs::broadcast_shape;
use crate::ops::{Contract, Op, rule, why};

/// `Linear::new(weight (O, I), bias (O)?)` of `x (.., I)`: `x @ weight^T + bias`.
pub static LINEAR: Op = Op {
    name: "layer.linear",
    covers: &[
        "Linear",
        "linear::linear",
        "linear::linear_no_bias",
        "linear::linear_b",
        "VarBuilder::from_tensors",
        "Linear::new",
    ],
    support: FLOATS,
    inputs: &[
        InputSpec::new("x", "(.., I)"),
        InputSpec::new("weight", "(O, I)"),
        InputSpec::new("bias", "(O)").optional(),
    ],
    params: &[ParamSpec::word(
        "form",
        &["", "linear", "linear_b"],
        "The function of a `VarBuilder` that makes the layer, if any.",
    )],
    generate: &|draw| {
        let dtype = draw.dtype(LINEAR.support)?;
        let mut shape = if draw.one_in(24)? { Vec::new() } else { draw.shape(1, 3)? };
        let (inner, outer) = (draw.reduced()?, draw.size()?);
        shape.push(inner);
        let x = draw.tensor(dtype, &shape)?;
        let mut case = Case::default().input("x", x).input("weight", draw.tensor(dtype, &[outer, inner])?);
        if draw.one_in(2)? {
            case = case.input("bias", draw.tensor(dtype, &[outer])?);
        }
        case.backward = draw.backward()?;
        Ok(if draw.one_in(4)? { case.param("form", *draw.choose(&["linear", "linear_b"])?) } else { case })
    },
    contract: &|case| {
        let (Some(x), Some(weight)) = (case.tensor("x"), case.tensor("weight")) else {
            return Contract::Rejects(&rule::SHAPES);
        };
        if weight.shape.len() != 2 || x.shape.is_empty() {
            return Contract::Rejects(&rule::RANK);
        }
        let (outer, inner) = (weight.shape[0], weight.shape[1]);
        if x.shape.last() != Some(&inner) {
            return Contract::Rejects(&rule::SHAPES);
        }
        if weight.dtype != x.dtype {
            return Contract::Rejects(&rule::MIXED);
        }
        if let Some(bias) = case.tensor("bias") {
            if bias.shape != [outer] {
                // A builder looks for the shape; a sum broadcasts.
                let sum = [&x.shape[..x.shape.len() - 1], &[outer]].concat();
                let fits =
                    case.text("form").is_empty() && broadcast_shape(&bias.shape, &sum).is_some_and(|all| all == sum);
                let broadcasts = Contract::Unspecified("a bias that is not one value per output");
                return if fits { broadcasts } else { Contract::Rejects(&rule::SHAPES) };
            }
            if bias.dtype != x.dtype && !case.text("form").is_empty() {
                return Contract::Unspecified("a `VarBuilder` has only one dtype");
            }
            if bias.dtype != x.dtype {
                return Contract::Rejects(&rule::MIXED);
            }
        }
        let mut shape = x.shape.clone();
        *shape.last_mut().expect("at least one dimension") = outer;
        let contract = Contract::accepts(x.dtype, &shape);
        contract.may_refuse(!weight.view.is_contiguous(), why::CONTIGUOUS)
    },
    call: &|call| {
        let (weight, bias) = (call.tensor("weight")?, call.optional("bias"));
        let layer = match call.case.text("form") {
            "" => candle_nn::Linear::new(weight.clone(), bias.cloned()),
            form => built(form, weight, bias)?,
        };
        Ok(vec![layer.forward(call.tensor("x")?)?])
    },
    source: r#"
        {% if form %}
        {% set outer, inner = inputs.weight.shape %}
        {% include "builder" %}
        {% if form == "linear_b" %}
        let layer = candle_nn::linear_b({{ inner }}, {{ outer }}, {{ inputs.bias is defined }}, vb)?;
        {% else %}
        let layer = candle_nn::linear{{ "" if inputs.bias else "_no_bias" }}({{ inner }}, {{ outer }}, vb)?;
        {% endif %}
        {% else %}
        let layer = candle_nn::Linear::new(weight, {{ "Some(bias)" if inputs.bias else "None" }});
        {% endif %}
        layer.forward(&x)?
    "#,
    torch: r#"F.linear(x, weight{{ ", bias" if inputs.bias else "" }})"#,
    reference: Some(&|inputs| {
        let (x, weight, bias) = (inputs.array("x"), inputs.array("weight"), inputs.optional("bias"));
        let (outer, last) = (weight.shape()[0], x.ndim() - 1);
        let mut shape = x.shape().to_vec();
        shape[last] = outer;
        let mut out = ArrayD::from_elem(IxDyn(&shape), Num::exact(0.0));
        for (row, mut results) in x.lanes(Axis(last)).into_iter().zip(out.lanes_mut(Axis(last))) {
            for (o, result) in results.iter_mut().enumerate() {
                *result = Num::dot(row.iter().copied().zip(weight.index_axis(Axis(0), o).iter().copied()));
                if let Some(bias) = &bias {
                    *result = *result + bias[[o]];
                }
            }
        }
        vec![out]
    }),
    ulps: 4.0,
    differentiable: &["bias", "weight", "x"],
    promise: "candle-nn/src/linear.rs:1-74: inputs with and without a batch dimension; a separate branch for inputs of \
              three and four dimensions that are not contiguous; torch.nn.Linear",
};

/// The layer that candle's builders make of these tensors.
fn built(
    form: &str,
    weight: &candle_core::Tensor,
    bias: Option<&candle_core::Tensor>,
) -> candle_core::Result<candle_nn::Linear> {
    let (outer, inner) = weight.dims2()?;
    let builder = builder(weight, bias);
    match bias {
        _ if form == "linear_b" => candle_nn::linear_b(inner, outer, bias.is_some(), builder),
        Some(_) => candle_nn::linear(inner, outer, builder),
        None => candle_nn::linear_no_bias(inner, outer, builder),
    }
}
