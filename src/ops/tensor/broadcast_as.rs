//! `Tensor::broadcast_as`, `expand` and `broadcast_left`.

use candle_core::Tensor as Candle;

use crate::case::{Case, ParamSpec};
use crate::ops::support::arguments::ANY;
use crate::ops::support::moving::gather_map::{VIEWS, contract, draw_x, gathered, shape_of};
use crate::ops::{Call, Contract, Op, rule};

/// `x.broadcast_as((n0, ..))` or `x.expand(..)`: repeats sizes of 1 and adds dimensions in front;
/// `x.broadcast_left(..)` puts these dimensions in front.
pub static BROADCAST_AS: Op = Op {
    name: "tensor.broadcast_as",
    covers: &["Tensor::broadcast_as", "Tensor::expand", "Tensor::broadcast_left"],
    support: VIEWS,
    inputs: &[ANY],
    params: &[
        ParamSpec::word("form", &["as", "expand", "left"], "The method."),
        ParamSpec::sizes("sizes", "The new shape; with `left`, the dimensions in front."),
    ],
    generate: &|draw| {
        let case = draw_x(draw, 0, 3)?;
        let mut shape: Vec<usize> = Vec::new();
        for _ in 0..draw.between(0, 2)? {
            shape.push(draw.between(0, 3)?.max(draw.between(0, 1)?));
        }
        let form = *draw.choose(&["as", "as", "expand", "left"])?;
        if form != "left" {
            for n in shape_of(&case) {
                shape.push(if n == 1 { draw.between(1, 4)? } else { n });
            }
        }
        Ok(case.param("sizes", shape).param("form", form))
    },
    contract: &|case| contract(case, broadcast),
    call: &|call| {
        let (x, shape) = (call.tensor("x")?, call.case.sizes("sizes"));
        Ok(vec![spread(call, x, shape)?])
    },
    source: r#"
        {% set names = {"left": "broadcast_left", "expand": "expand"} %}
        x.{{ names[form]|default("broadcast_as") }}({{ shape("sizes") }})?
    "#,
    torch: r#"x.expand({{ shape("sizes") }}{{ " + x.shape" if form == "left" else "" }})"#,
    reference: Some(&|inputs| {
        gathered(inputs, broadcast, |_, x, index| {
            let own = &index[index.len() - x.len()..];
            Some(own.iter().zip(x).map(|(&i, &n)| if n == 1 { 0 } else { i }).collect())
        })
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-core/src/tensor.rs:2437-2470; torch.Tensor.expand",
};

fn spread(call: &Call, x: &Candle, shape: Vec<usize>) -> candle_core::Result<Candle> {
    match call.case.text("form") {
        "left" => x.broadcast_left(shape),
        "expand" => x.expand(shape),
        _ => x.broadcast_as(shape),
    }
}

fn broadcast(case: &Case, x: &[usize]) -> Result<Vec<usize>, Contract> {
    let shape = case.sizes("sizes");
    if case.text("form") == "left" {
        return Ok([&shape[..], x].concat());
    }
    let fits = shape.len() >= x.len()
        && shape[shape.len() - x.len()..].iter().zip(x).all(|(&wide, &own)| wide == own || own == 1);
    if fits { Ok(shape) } else { Err(Contract::Rejects(&rule::SHAPES)) }
}
