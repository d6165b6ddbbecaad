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
    generate: |draw| {
        let dtype = draw.dtype(STEPPED)?;
        let (start, step) = *draw.choose(&[(0.0, 1.0), (1.0, 1.0), (3.0, 2.0), (8.0, -0.25), (0.0, 0.5)])?;
        let (start, step) = if dtype.is_float() { (start, step) } else { (start, f64::max(step, 1.0)) };
        // Some counts reach values beyond the dtype's precision, or the edge of an integer's range.
        let count = match dtype {
            DType::F16 if draw.one_in(8)? => 3000,
            DType::U8 if draw.one_in(4)? => ((255.0 - start) / step) as usize,
            _ => draw.size()?.min(100),
        };
        let end = start + step * count as f64;
        let holds = dtype.round(end) == end;
        let case = Case::default().param("dtype", dtype.name()).param("start", start);
        let case = case.param("end", if holds { end } else { start });
        Ok(if step == 1.0 && draw.one_in(2)? { case } else { case.param("step", step) })
    },
    contract: |case| match range(case) {
        Err(contract) => contract,
        Ok((_, _, count)) => Contract::accepts(dtype(case), &[count]),
    },
    call: |call| {
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
    reference: Some(|inputs| {
        let Ok((start, step, count)) = range(inputs.case) else { return Vec::new() };
        let unit = dtype(inputs.case).unit_roundoff();
        let value = |index: usize| {
            let value = start + step * index as f64;
            // A running sum rounds once per step.
            let exact = dtype(inputs.case).round(value) == value;
            Num { error: if exact { 0.0 } else { unit * value.abs() * index as f64 }, ..Num::exact(value) }
        };
        vec![(0..count).map(value).collect::<ndarray::Array1<Num>>().into_dyn()]
    }),
    ulps: 4.0,
    differentiable: &[],
    promise: "candle-core/src/tensor.rs:470-520: the values of [start, end) with the common difference step; \
         torch.arange",
};

/// Ranges are made on the host and uploaded.
const STEPPED: &Support = &Support::both("dtype", &DType::ALL_BUT_F8);

/// Start, step and length of a range whose numbers the dtype holds.
fn range(case: &Case) -> Result<(f64, f64, usize), Contract> {
    let (start, end, step) = (case.float("start"), case.float("end"), case.optional_float("step").unwrap_or(1.0));
    if step == 0.0 {
        return Err(Contract::Rejects(&rule::ZERO_STEP));
    }
    let count = ((end - start) / step).ceil();
    if count > 65_536.0 {
        return Err(Contract::Unspecified(why::TOO_LARGE));
    }
    if [start, end, step].into_iter().any(|value| !value.is_finite() || dtype(case).round(value) != value) {
        return Err(Contract::Unspecified("a bound that the dtype rounds"));
    }
    if count < 0.0 {
        return Err(Contract::Unspecified("an end before the start"));
    }
    Ok((start, step, count as usize))
}
