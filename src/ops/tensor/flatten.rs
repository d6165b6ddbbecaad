//! `Tensor::flatten` and its variants.

use crate::case::{Case, ParamSpec};
use crate::ops::support::arguments::ANY;
use crate::ops::support::moving::gather_map::{COPIES, contract, draw_x, in_order, shape_of};
use crate::ops::{Contract, Op, rule};

/// `x.flatten(start, end)`, `x.flatten_to(end)`, `x.flatten_from(start)` or `x.flatten_all()`.
pub static FLATTEN: Op = Op {
    name: "tensor.flatten",
    covers: &["Tensor::flatten", "Tensor::flatten_to", "Tensor::flatten_from", "Tensor::flatten_all"],
    support: COPIES,
    inputs: &[ANY],
    params: &[
        ParamSpec::size("end", 0, "The last dimension to join."),
        ParamSpec::word("form", &["both", "to", "from", "all"], "The method."),
        ParamSpec::size("start", 0, "The first dimension to join."),
    ],
    generate: &|draw| {
        let case = draw_x(draw, 1, 4)?;
        let last = shape_of(&case).len() - 1;
        let start = draw.between(0, last)?;
        let end = draw.between(start, last)?;
        let form = *draw.choose(&["both", "to", "from", "all"])?;
        Ok(case.param("form", form).param("start", start).param("end", end))
    },
    contract: &|case| contract(case, flattened),
    call: &|call| {
        let x = call.tensor("x")?;
        let (start, end) = (call.size("start"), call.size("end"));
        Ok(vec![match call.case.text("form") {
            "to" => x.flatten_to(end)?,
            "from" => x.flatten_from(start)?,
            "all" => x.flatten_all()?,
            _ => x.flatten(start, end)?,
        }])
    },
    source: r#"
        {% if form == "to" %}
        x.flatten_to({{ end }})?
        {% elif form == "from" %}
        x.flatten_from({{ start }})?
        {% elif form == "all" %}
        x.flatten_all()?
        {% else %}
        x.flatten({{ start }}, {{ end }})?
        {% endif %}
    "#,
    torch: r#"
        {% if form == "to" %}
        x.flatten(0, {{ end }})
        {% elif form == "from" %}
        x.flatten({{ start }})
        {% elif form == "all" %}
        x.flatten()
        {% else %}
        x.flatten({{ start }}, {{ end }})
        {% endif %}
    "#,
    reference: Some(&|inputs| in_order(inputs, flattened)),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-core/src/tensor.rs:2170-2228; torch.flatten",
};

fn flattened(case: &Case, x: &[usize]) -> Result<Vec<usize>, Contract> {
    let form = case.text("form");
    let start = if matches!(form, "to" | "all") { 0 } else { case.size("start") };
    let end = if matches!(form, "from" | "all") { x.len().saturating_sub(1) } else { case.size("end") };
    if x.is_empty() {
        return if form == "all" { Ok(vec![1]) } else { Err(Contract::Unspecified("dimensions of a scalar")) };
    }
    if start.max(end) >= x.len() {
        return Err(Contract::Rejects(&rule::DIM));
    }
    if start > end {
        return Err(Contract::Rejects(&rule::DIM_RANGE));
    }
    Ok([&x[..start], &[x[start..=end].iter().product()], &x[end + 1..]].concat())
}
