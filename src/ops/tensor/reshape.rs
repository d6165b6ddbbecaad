//! `Tensor::reshape`.

use crate::case::{Case, ParamSpec};
use crate::ops::support::arguments::ANY;
use crate::ops::support::moving::gather_map::{COPIES, contract, draw_x, in_order, shape_of};
use crate::ops::{Contract, Op, rule};
use crate::tensor::product;

/// `x.reshape((n0, n1, ..))`; with `hole` candle computes the first size.
pub static RESHAPE: Op = Op {
    name: "tensor.reshape",
    covers: &["Tensor::reshape"],
    support: COPIES,
    inputs: &[ANY],
    params: &[
        ParamSpec::flag("hole", false, "Let candle infer the first size."),
        ParamSpec::sizes("sizes", "The new shape."),
    ],
    generate: &|draw| {
        let case = draw_x(draw, 0, 4)?;
        let mut shape: Vec<usize> = shape_of(&case);
        let order = draw.permutation(shape.len())?;
        shape = order.into_iter().map(|d| shape[d]).collect();
        // Two dimensions become one, one becomes two, or a 1 appears.
        match draw.between(0, 3)? {
            0 if shape.len() > 1 => {
                let last = shape.pop().unwrap_or(1);
                shape[0] *= last;
            }
            1 if shape.first().is_some_and(|n| n % 2 == 0) => {
                shape[0] /= 2;
                shape.push(2);
            }
            2 => shape.insert(draw.between(0, shape.len())?, 1),
            _ => {}
        }
        let findable = (1..=3).contains(&shape.len()) && !shape[1..].contains(&0);
        let hole = findable && draw.one_in(3)?;
        Ok(case.param("sizes", shape).param("hole", usize::from(hole)))
    },
    contract: &|case| contract(case, reshaped),
    call: &|call| {
        let (x, shape) = (call.tensor("x")?, call.case.sizes("sizes"));
        Ok(vec![match (call.size("hole"), shape.as_slice()) {
            (1, [_]) => x.reshape(((),))?,
            (1, &[_, n1]) => x.reshape(((), n1))?,
            (1, &[_, n1, n2]) => x.reshape(((), n1, n2))?,
            _ => x.reshape(shape)?,
        }])
    },
    source: r#"
        {% if hole == 1 and sizes|length in [1, 2, 3] %}
        x.reshape(((),{% for n in sizes[1:] %} {{ n }}{{ "" if loop.last else "," }}{% endfor %}))?
        {% else %}
        x.reshape({{ shape("sizes") }})?
        {% endif %}
    "#,
    torch: r#"
        {% if hole == 1 and sizes|length in [1, 2, 3] %}
        x.reshape(-1{% for n in sizes[1:] %}, {{ n }}{% endfor %})
        {% else %}
        x.reshape({{ shape("sizes") }})
        {% endif %}
    "#,
    reference: Some(&|inputs| in_order(inputs, reshaped)),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-core/src/tensor.rs:2518-2580 (its documentation), shape.rs; torch.reshape",
};

fn reshaped(case: &Case, x: &[usize]) -> Result<Vec<usize>, Contract> {
    let mut shape = case.sizes("sizes");
    let elements = product(x).unwrap_or(0);
    if case.size("hole") == 1 && (1..=3).contains(&shape.len()) {
        let others = product(&shape[1..]);
        if others == Some(0) {
            return Err(Contract::Rejects(&rule::HOLE));
        }
        let Some(found) = others.filter(|others| elements.is_multiple_of(*others)).map(|others| elements / others)
        else {
            return Err(Contract::Rejects(&rule::ELEMENTS));
        };
        shape[0] = found;
    }
    if product(&shape) == Some(elements) { Ok(shape) } else { Err(Contract::Rejects(&rule::ELEMENTS)) }
}
