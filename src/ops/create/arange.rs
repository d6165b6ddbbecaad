//! Ranges of numbers.

use candle_core::{Tensor, WithDType};

use crate::case::{Case, ParamSpec};
use crate::number::Num;
use crate::ops::support::arguments::DTYPE;
use crate::ops::support::call::typed;
use crate::ops::support::elements::creation::dtype;
use crate::ops::{Contract, Op, rule, why};
use crate::tensor::{DType, Support};

/// `Tensor::arange_step(start, start + count step, step, device)`; without a param `step`, `arange` with the step 1.
pub static ARANGE: Op = Op {
    name: "create.arange",
    covers: &["Tensor::arange", "Tensor::arange_step"],
    support: STEPPED,
    inputs: &[],
    params: &[
        DTYPE,
        ParamSpec::float("end", 0.0, "The end, which is excluded."),
        ParamSpec::float("start", 0.0, "The first value."),
        ParamSpec::float("step", 1.0, "The distance between values.").optional(),
    ],
    generate: &|draw| {
        let dtype = draw.dtype(STEPPED)?;
        let (start, step) =
            *draw.choose(&[(0.0, 1.0), (1.0, 1.0), (3.0, 2.0), (8.0, -0.25), (0.0, 0.5), (0.0, 0.1)])?;
        let (start, step) = if dtype.is_float() { (start, step) } else { (start, f64::max(step, 1.0)) };
        // Some counts reach values beyond the dtype's precision, or the edge of an integer's range.
        let count = match dtype {
            DType::F16 if draw.one_in(8)? => 3000,
            DType::U8 if draw.one_in(4)? => ((255.0 - start) / step) as usize,
            DType::F8e4m3 if !draw.one_in(8)? => draw.size()?.min(8),
            _ => draw.size()?.min(100),
        };
        // Of a step that is rounded, the last half decides no length.
        let rest = if dtype.round(step) == step { 0.0 } else { 0.5 };
        let end = start + step * (count as f64 - rest);
        let holds = dtype.element(end).is_some();
        let case = Case::default().param("dtype", dtype.name()).param("start", start);
        let case = case.param("end", if holds { end } else { start });
        Ok(if step == 1.0 && draw.one_in(2)? { case } else { case.param("step", step) })
    },
    contract: &|case| match range(case) {
        Err(contract) => contract,
        Ok((_, _, count)) => Contract::accepts(dtype(case), &[count]),
    },
    call: &|call| {
        let number = |name| call.case.float(name);
        let (start, end) = (number("start"), number("end"));
        let step = call.case.params.contains_key("step").then(|| number("step"));
        Ok(vec![typed!(dtype(call.case), T => {
            let number = <T as WithDType>::from_f64;
            match step {
                None => Tensor::arange(number(start), number(end), call.device)?,
                Some(step) => Tensor::arange_step(number(start), number(end), number(step), call.device)?,
            }
        })])
    },
    source: r"
        {% set start, end = start|of(dtype), end|of(dtype) %}
        {% if step is defined %}
        Tensor::arange_step({{ start }}, {{ end }}, {{ step|of(dtype) }}, &device)?
        {% else %}
        Tensor::arange({{ start }}, {{ end }}, &device)?
        {% endif %}
    ",
    torch: r"
        {% set start, end, step = start|of(dtype), end|of(dtype), step|default(1)|of(dtype) %}
        torch.arange({{ start }}, {{ end }}, {{ step }}, dtype={{ dtype|dtype }})
    ",
    reference: Some(&|inputs| {
        let Ok((start, step, count)) = range(inputs.case) else { return Vec::new() };
        let unit = dtype(inputs.case).unit_roundoff();
        let value = |index: usize| {
            let value = start + step * index as f64;
            // A running sum rounds once per step, but not where it has whole multiples of a step of few bits.
            let exact = dtype(inputs.case).round(value) == value;
            let largest = value.abs().max(start.abs());
            Num { error: if exact { 0.0 } else { unit * largest * index as f64 }, ..Num::exact(value) }
        };
        vec![(0..count).map(value).collect::<ndarray::Array1<Num>>().into_dyn()]
    }),
    ulps: 4.0,
    differentiable: &[],
    promise: "candle-core/src/tensor.rs:470-520: the values of [start, end) with the common difference step; \
         torch.arange",
};

/// Ranges are made on the host and uploaded.
const STEPPED: &Support = &Support::both("dtype", &DType::ALL);

/// The most elements of a range that are tried.
const MOST: f64 = (1 << 20) as f64;

/// Start, step and length of a range. Its numbers are those that the dtype rounds the case's to.
fn range(case: &Case) -> Result<(f64, f64, usize), Contract> {
    let numbers = [case.float("start"), case.float("end"), case.optional_float("step").unwrap_or(1.0)];
    let held = numbers.map(|number| dtype(case).element(number).filter(|number| number.is_finite()));
    let [Some(start), Some(end), Some(step)] = held else {
        return Err(Contract::Unspecified("a bound that the dtype cannot hold"));
    };
    if step == 0.0 {
        return Err(Contract::Rejects(&rule::ZERO_STEP));
    }
    let count = ((end - start) / step).ceil();
    if count < 0.0 {
        return Err(Contract::Unspecified("an end before the start"));
    }
    if count > MOST {
        return Err(Contract::Unspecified(why::TOO_LARGE));
    }
    if is_open(start, end, step, dtype(case)) {
        return Err(Contract::Unspecified("a length that rounding decides"));
    }
    Ok((start, step, count as usize))
}

/// True if `(end - start) / step`, rounded up, depends on the precision of its evaluation: another one than that of the dtype or of
/// `f64` may say one more or less. So may a look at the last value: PyTorch keeps one that is rounded to the excluded end.
fn is_open(start: f64, end: f64, step: f64, dtype: DType) -> bool {
    let width = end - start;
    let count = width / step;
    let own = dtype.round(dtype.round(width) / step);
    // What `f64` rounds to a whole number may be a little more.
    let is_more = count.fract() == 0.0 && count.mul_add(step, -width) / step < 0.0;
    let is_exact = width + start == end && end - width == start;
    let is_whole = (count - count.round()).abs() <= 4.0 * f64::EPSILON * count.abs();
    let has_end = count.fract() != 0.0 && dtype.round(step.mul_add(count.floor(), start)) == end;
    dtype.is_float() && (own.ceil() != count.ceil() || is_whole && (is_more || !is_exact || has_end))
}
