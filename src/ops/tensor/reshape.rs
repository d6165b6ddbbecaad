//! Ops that give the same elements another shape: `reshape`, `flatten`, `squeeze`, `unsqueeze` and broadcasts.

use candle_core::Tensor as Candle;

use crate::case::Case;
use crate::ops::support::gather_map::{
    COPIES, VIEWS, contract, drawn, flat, gathered, permutation, shape_of, size, sizes, unflat, with_sizes,
};
use crate::ops::{Call, Contract, Op, ReferenceInputs, why};
use crate::tensor::product;

/// `x.reshape((n0, n1, ..))`; with `hole` the first size is left for candle to find.
pub static RESHAPE: Op = Op {
    name: "tensor.reshape",
    covers: &["Tensor::reshape"],
    support: COPIES,
    generate: |draw| {
        let case = drawn(draw, 0, 4)?;
        let mut shape: Vec<usize> = shape_of(&case);
        let order = permutation(draw, shape.len())?;
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
        Ok(with_sizes(case, "n", &shape).param("hole", usize::from(hole)))
    },
    contract: |case| contract(case, reshaped),
    call: |call| {
        let (x, shape) = (call.tensor("x")?, sizes(call.case, "n"));
        Ok(vec![match (call.size("hole", 0), shape.as_slice()) {
            (1, [_]) => x.reshape(((),))?,
            (1, &[_, n1]) => x.reshape(((), n1))?,
            (1, &[_, n1, n2]) => x.reshape(((), n1, n2))?,
            _ => x.reshape(shape)?,
        }])
    },
    source: r#"
        {% if hole == 1 and n0 is defined and n3 is not defined %}
        x.reshape(((),{% if n1 is defined %} {{ n1 }}{% endif %}{% if n2 is defined %}, {{ n2 }}{% endif %}))?
        {% else %}
        x.reshape({{ shape("n") }})?
        {% endif %}
    "#,
    torch: r#"
        {% if hole == 1 and n0 is defined and n3 is not defined %}
        x.reshape(-1{% if n1 is defined %}, {{ n1 }}{% endif %}{% if n2 is defined %}, {{ n2 }}{% endif %})
        {% else %}
        x.reshape({{ shape("n") }})
        {% endif %}
    "#,
    reference: Some(|inputs| in_order(inputs, reshaped)),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-core/src/tensor.rs:2518-2580 (its documentation), shape.rs; torch.reshape",
};

fn reshaped(case: &Case, x: &[usize]) -> Result<Vec<usize>, Contract> {
    let mut shape = sizes(case, "n");
    let elements = product(x).unwrap_or(0);
    if size(case, "hole") == 1 && (1..=3).contains(&shape.len()) {
        let others = product(&shape[1..]);
        if others == Some(0) {
            return Err(Contract::Rejects("a hole of any size"));
        }
        let Some(found) = others.filter(|others| elements.is_multiple_of(*others)).map(|others| elements / others)
        else {
            return Err(Contract::Rejects("another number of elements"));
        };
        shape[0] = found;
    }
    if product(&shape) == Some(elements) { Ok(shape) } else { Err(Contract::Rejects("another number of elements")) }
}

/// `x.flatten(start, end)`, `x.flatten_to(end)`, `x.flatten_from(start)` or `x.flatten_all()`.
pub static FLATTEN: Op = Op {
    name: "tensor.flatten",
    covers: &["Tensor::flatten", "Tensor::flatten_to", "Tensor::flatten_from", "Tensor::flatten_all"],
    support: COPIES,
    generate: |draw| {
        let case = drawn(draw, 1, 4)?;
        let last = shape_of(&case).len() - 1;
        let start = draw.between(0, last)?;
        let end = draw.between(start, last)?;
        let form = *draw.choose(&["both", "to", "from", "all"])?;
        Ok(case.param("form", form).param("start", start).param("end", end))
    },
    contract: |case| contract(case, flattened),
    call: |call| {
        let x = call.tensor("x")?;
        let (start, end) = (call.size("start", 0), call.size("end", 0));
        Ok(vec![match call.case.text("form") {
            "to" => x.flatten_to(end)?,
            "from" => x.flatten_from(start)?,
            "all" => x.flatten_all()?,
            _ => x.flatten(start, end)?,
        }])
    },
    source: r#"
        {% if form == "to" %}
        x.flatten_to({{ end|default(0) }})?
        {% elif form == "from" %}
        x.flatten_from({{ start|default(0) }})?
        {% elif form == "all" %}
        x.flatten_all()?
        {% else %}
        x.flatten({{ start|default(0) }}, {{ end|default(0) }})?
        {% endif %}
    "#,
    torch: r#"
        {% if form == "to" %}
        x.flatten(0, {{ end|default(0) }})
        {% elif form == "from" %}
        x.flatten({{ start|default(0) }})
        {% elif form == "all" %}
        x.flatten()
        {% else %}
        x.flatten({{ start|default(0) }}, {{ end|default(0) }})
        {% endif %}
    "#,
    reference: Some(|inputs| in_order(inputs, flattened)),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-core/src/tensor.rs:2170-2228; torch.flatten",
};

fn flattened(case: &Case, x: &[usize]) -> Result<Vec<usize>, Contract> {
    let form = case.text("form");
    let start = if matches!(form, "to" | "all") { 0 } else { size(case, "start") };
    let end = if matches!(form, "from" | "all") { x.len().saturating_sub(1) } else { size(case, "end") };
    if x.is_empty() {
        return if form == "all" { Ok(vec![1]) } else { Err(Contract::Unspecified("dimensions of a scalar")) };
    }
    if start.max(end) >= x.len() {
        return Err(Contract::Rejects(why::DIM));
    }
    if start > end {
        return Err(Contract::Unspecified("a range of dimensions that ends before it starts"));
    }
    Ok([&x[..start], &[x[start..=end].iter().product()], &x[end + 1..]].concat())
}

/// `x.squeeze(dim)`: without the dimension `dim` if its size is 1; `x.unsqueeze(dim)`: with such a dimension.
pub static SQUEEZE: Op = Op {
    name: "tensor.squeeze",
    covers: &["Tensor::squeeze", "Tensor::unsqueeze"],
    support: VIEWS,
    generate: |draw| {
        let case = drawn(draw, 1, 4)?;
        let unsqueezes = draw.one_in(2)?;
        let dim = draw.between(0, shape_of(&case).len() - usize::from(!unsqueezes))?;
        Ok(case.param("form", if unsqueezes { "unsqueeze" } else { "squeeze" }).param("dim", dim))
    },
    contract: |case| contract(case, squeezed),
    call: |call| {
        let (x, dim) = (call.tensor("x")?, call.size("dim", 0));
        Ok(vec![if call.case.text("form") == "unsqueeze" { x.unsqueeze(dim)? } else { x.squeeze(dim)? }])
    },
    source: "x.{{ 'unsqueeze' if form == 'unsqueeze' else 'squeeze' }}({{ dim|default(0) }})?",
    torch: "x.{{ 'unsqueeze' if form == 'unsqueeze' else 'squeeze' }}({{ dim|default(0) }})",
    reference: Some(|inputs| in_order(inputs, squeezed)),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-core/src/tensor.rs:2582-2653; torch.squeeze, torch.unsqueeze",
};

fn squeezed(case: &Case, x: &[usize]) -> Result<Vec<usize>, Contract> {
    let (dim, unsqueezes) = (size(case, "dim"), case.text("form") == "unsqueeze");
    if dim >= x.len() + usize::from(unsqueezes) {
        return Err(Contract::Rejects(why::DIM));
    }
    let mut shape = x.to_vec();
    if unsqueezes {
        shape.insert(dim, 1);
    } else if shape[dim] == 1 {
        shape.remove(dim);
    }
    Ok(shape)
}

/// `x.broadcast_as((n0, ..))` or `x.expand(..)`: sizes of 1 repeated, and dimensions in front; `x.broadcast_left(..)`:
/// these dimensions in front.
pub static BROADCAST_AS: Op = Op {
    name: "tensor.broadcast_as",
    covers: &["Tensor::broadcast_as", "Tensor::expand", "Tensor::broadcast_left"],
    support: VIEWS,
    generate: |draw| {
        let case = drawn(draw, 0, 3)?;
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
        Ok(with_sizes(case, "n", &shape).param("form", form))
    },
    contract: |case| contract(case, broadcast),
    call: |call| {
        let (x, shape) = (call.tensor("x")?, sizes(call.case, "n"));
        Ok(vec![spread(call, x, shape)?])
    },
    source: r#"
        {% set names = {"left": "broadcast_left", "expand": "expand"} %}
        x.{{ names[form|default("")]|default("broadcast_as") }}({{ shape("n") }})?
    "#,
    torch: r#"x.expand({{ shape("n") }}{{ " + x.shape" if form == "left" else "" }})"#,
    reference: Some(|inputs| {
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
    let shape = sizes(case, "n");
    if case.text("form") == "left" {
        return Ok([&shape[..], x].concat());
    }
    let fits = shape.len() >= x.len()
        && shape[shape.len() - x.len()..].iter().zip(x).all(|(&wide, &own)| wide == own || own == 1);
    if fits { Ok(shape) } else { Err(Contract::Rejects(why::SHAPES)) }
}

/// The elements of `x` in row-major order, in another shape.
fn in_order(
    inputs: &ReferenceInputs,
    shape: crate::ops::support::gather_map::Shape,
) -> Vec<ndarray::ArrayD<crate::number::Num>> {
    let out = shape(inputs.case, inputs.array("x").shape()).unwrap_or_default();
    let x = inputs.array("x");
    let at = |index: &[usize]| x[unflat(x.shape(), flat(&out, index)).as_slice()];
    vec![ndarray::ArrayD::from_shape_fn(ndarray::IxDyn(&out), |index| at(ndarray::Dimension::slice(&index)))]
}
