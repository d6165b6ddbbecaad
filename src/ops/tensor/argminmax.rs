//! Extremes along a dimension: `max`, `min`, and where they are.

use candle_core::{Result, Tensor as Candle};
use ndarray::ArrayD;

use crate::case::Case;
use crate::generate::Draw;
use crate::number::Num;
use crate::ops::support::reductions::{OPEN, gradient_of_nothing, left, reduced};
use crate::ops::tensor::reduce::NOTHING;
use crate::ops::{Call, Contract, Op, ReferenceInputs, why};
use crate::tensor::{DType, Support};

/// `x.max(dim)`, `x.max_keepdim(dim)` and `x.max_all()`, by `form`.
pub static MAX: Op = Op {
    name: "tensor.max",
    covers: &["Tensor::max", "Tensor::max_keepdim", "Tensor::max_all"],
    support: &Support { of: "x", cpu: &DType::ALL, cuda: &DType::STANDARD },
    generate: |draw| generate(draw, &["", "keepdim", "all"]),
    contract: |case| contract(case, None),
    call: |call| along_dim(call, Candle::max, Candle::max_keepdim, Candle::max_all),
    source: r#"
        {% if form == "all" %}
        x.max_all()?
        {% elif form == "keepdim" %}
        x.max_keepdim({{ dim|default(0) }})?
        {% else %}
        x.max({{ dim|default(0) }})?
        {% endif %}
    "#,
    torch: r#"
        {% if form == "all" %}
        x.max()
        {% else %}
        x.max({{ dim|default(0) }}{{ ", keepdim=True" if form == "keepdim" else "" }}).values
        {% endif %}
    "#,
    reference: Some(|inputs| over_dim(inputs, |lane| value(lane, |a, b| a > b))),
    ulps: 4.0,
    differentiable: &["x"],
    promise: EXTREME_PROMISE,
};

/// `x.min(dim)`, `x.min_keepdim(dim)` and `x.min_all()`, by `form`.
pub static MIN: Op = Op {
    name: "tensor.min",
    covers: &["Tensor::min", "Tensor::min_keepdim", "Tensor::min_all"],
    support: &Support { of: "x", cpu: &DType::ALL, cuda: &DType::STANDARD },
    generate: |draw| generate(draw, &["", "keepdim", "all"]),
    contract: |case| contract(case, None),
    call: |call| along_dim(call, Candle::min, Candle::min_keepdim, Candle::min_all),
    source: r#"
        {% if form == "all" %}
        x.min_all()?
        {% elif form == "keepdim" %}
        x.min_keepdim({{ dim|default(0) }})?
        {% else %}
        x.min({{ dim|default(0) }})?
        {% endif %}
    "#,
    torch: r#"
        {% if form == "all" %}
        x.min()
        {% else %}
        x.min({{ dim|default(0) }}{{ ", keepdim=True" if form == "keepdim" else "" }}).values
        {% endif %}
    "#,
    reference: Some(|inputs| over_dim(inputs, |lane| value(lane, |a, b| a < b))),
    ulps: 4.0,
    differentiable: &["x"],
    promise: EXTREME_PROMISE,
};

/// `x.argmax(dim)` and `x.argmax_keepdim(dim)`, by `form`: `u32`, the first one of several.
pub static ARGMAX: Op = Op {
    name: "tensor.argmax",
    covers: &["Tensor::argmax", "Tensor::argmax_keepdim"],
    support: &Support { of: "x", cpu: &DType::ALL, cuda: &DType::STANDARD },
    generate: |draw| generate(draw, &["", "keepdim"]),
    contract: |case| contract(case, Some(DType::U32)),
    call: |call| along_dim(call, Candle::argmax, Candle::argmax_keepdim, |x| x.flatten_all()?.argmax(0)),
    source: r#"
        {% if form == "all" %}
        x.flatten_all()?.argmax(0)?
        {% elif form == "keepdim" %}
        x.argmax_keepdim({{ dim|default(0) }})?
        {% else %}
        x.argmax({{ dim|default(0) }})?
        {% endif %}
    "#,
    torch: r#"
        {% if form == "all" %}
        x.argmax()
        {% else %}
        x.argmax({{ dim|default(0) }}{{ ", keepdim=True" if form == "keepdim" else "" }})
        {% endif %}
    "#,
    reference: Some(|inputs| over_dim(inputs, |lane| place(lane, |a, b| a > b))),
    ulps: 4.0,
    differentiable: &[],
    promise: PLACE_PROMISE,
};

/// `x.argmin(dim)` and `x.argmin_keepdim(dim)`, by `form`: `u32`, the first one of several.
pub static ARGMIN: Op = Op {
    name: "tensor.argmin",
    covers: &["Tensor::argmin", "Tensor::argmin_keepdim"],
    support: &Support { of: "x", cpu: &DType::ALL, cuda: &DType::STANDARD },
    generate: |draw| generate(draw, &["", "keepdim"]),
    contract: |case| contract(case, Some(DType::U32)),
    call: |call| along_dim(call, Candle::argmin, Candle::argmin_keepdim, |x| x.flatten_all()?.argmin(0)),
    source: r#"
        {% if form == "all" %}
        x.flatten_all()?.argmin(0)?
        {% elif form == "keepdim" %}
        x.argmin_keepdim({{ dim|default(0) }})?
        {% else %}
        x.argmin({{ dim|default(0) }})?
        {% endif %}
    "#,
    torch: r#"
        {% if form == "all" %}
        x.argmin()
        {% else %}
        x.argmin({{ dim|default(0) }}{{ ", keepdim=True" if form == "keepdim" else "" }})
        {% endif %}
    "#,
    reference: Some(|inputs| over_dim(inputs, |lane| place(lane, |a, b| a < b))),
    ulps: 4.0,
    differentiable: &[],
    promise: PLACE_PROMISE,
};

/// Where the contract of these ops comes from.
pub const EXTREME_PROMISE: &str = "candle-core/src/tensor.rs:1085-1105, 2116-2149; torch.aminmax: NaN values are propagated, and nothing has no \
              extreme";

/// Where the contract of these ops comes from.
pub const PLACE_PROMISE: &str = "candle-core/src/tensor.rs:1107-1123; torch.argmax: the first of several extremes, as candle's CPU backend \
              gives it";

fn generate(draw: &mut Draw, forms: &[&str]) -> arbitrary::Result<Case> {
    let mut shape = draw.shape(0, 3)?;
    let dim = draw.between(0, shape.len())?;
    shape.insert(dim, draw.reduced()?.max(1));
    let dtype = draw.dtype(MAX.support)?;
    let form = *draw.choose(forms)?;
    if form == "all" {
        for n in &mut shape {
            *n = (*n).max(1);
        }
    }
    let mut case = Case::default().input("x", draw.tensor(dtype, &shape)?).param("form", form).param("dim", dim);
    case.backward = draw.backward()?;
    Ok(case)
}

/// The dimensions that a case reduces of `rank`; `None` where one is missing.
fn dims(case: &Case, rank: usize) -> Option<Vec<usize>> {
    match case.text("form") {
        "all" => Some((0..rank).collect()),
        _ => usize::try_from(case.int("dim", 0)).ok().filter(|&dim| dim < rank).map(|dim| vec![dim]),
    }
}

fn contract(case: &Case, places: Option<DType>) -> Contract {
    let Some(x) = case.tensor("x") else { return Contract::Rejects(why::SHAPES) };
    let Some(dims) = dims(case, x.shape.len()) else { return Contract::Rejects(why::DIM) };
    let shape = left(&x.shape, &dims, case.text("form") == "keepdim");
    if dims.iter().any(|&dim| x.shape[dim] == 0) {
        let many = !shape.contains(&0);
        return if many { Contract::Rejects("an extreme of nothing") } else { Contract::Unspecified(NOTHING) };
    }
    if gradient_of_nothing(case) {
        return Contract::Unspecified("gradients of nothing");
    }
    Contract::accepts(places.unwrap_or(x.dtype), &shape).may_refuse(shape.contains(&0), NOTHING)
}

/// The one output of a call, with the dimension squeezed or kept, or of all elements.
fn along_dim(
    call: &Call,
    squeezed: fn(&Candle, usize) -> Result<Candle>,
    kept: fn(&Candle, usize) -> Result<Candle>,
    all: fn(&Candle) -> Result<Candle>,
) -> Result<Vec<Candle>> {
    let (x, dim) = (call.tensor("x")?, call.size("dim", 0));
    Ok(vec![match call.case.text("form") {
        "all" => all(x)?,
        "keepdim" => kept(x, dim)?,
        _ => squeezed(x, dim)?,
    }])
}

fn over_dim(inputs: &ReferenceInputs, f: impl Fn(&[Num]) -> Num) -> Vec<ArrayD<Num>> {
    let x = inputs.array("x");
    let dims = dims(inputs.case, x.ndim()).unwrap_or_default();
    reduced(&x, &dims, inputs.case.text("form") == "keepdim", f)
}

/// The position of the first element that no other `beats`.
fn first(lane: &[Num], beats: fn(f64, f64) -> bool) -> usize {
    let better = |best: usize, position: usize| beats(lane[position].value, lane[best].value);
    (1..lane.len()).fold(0, |best, position| if better(best, position) { position } else { best })
}

/// The extreme itself, NaN if there is one. Which of several equals has the derivative is a matter of convention.
fn value(lane: &[Num], beats: fn(f64, f64) -> bool) -> Num {
    if lane.iter().any(|x| x.value.is_nan()) {
        return Num::exact(f64::NAN);
    }
    let Some(&best) = lane.get(first(lane, beats)) else { return Num::exact(f64::NAN) };
    let tied = lane.iter().filter(|x| x.value == best.value).count() > 1;
    Num { kink: best.kink || tied, ..best }
}

/// The position of the extreme; nobody says which one it is beside a NaN.
fn place(lane: &[Num], beats: fn(f64, f64) -> bool) -> Num {
    if lane.iter().any(|x| x.value.is_nan()) { OPEN } else { Num::exact(first(lane, beats) as f64) }
}
