//! Uniform values.

use candle_core::{Tensor, WithDType};

use crate::case::ParamSpec;
use crate::ops::support::arguments::{COLUMNS, DTYPE, ROWS};
use crate::ops::support::call::{candle_dtype, typed_float};
use crate::ops::support::creation::{contract, dtype};
use crate::ops::support::random_facts::{
    CREATED, Distribution, RANDOM_PROMISE, all_hold, check_distribution, facts_contract, new_or_like,
};
use crate::ops::{Contract, Op};

/// `Tensor::rand(lo, up, (rows, columns), device)`, or `rand_like` with `form = "like"`.
pub static RAND: Op = Op {
    name: "random.rand",
    covers: &["Tensor::rand", "Tensor::rand_like"],
    support: CREATED,
    inputs: &[],
    params: &[
        COLUMNS,
        DTYPE,
        ParamSpec::word("form", &["new", "like"], "The function, or its `_like` form."),
        ParamSpec::float("lo", 0.0, "The lower bound."),
        ROWS,
        ParamSpec::float("up", 1.0, "The upper bound."),
    ],
    generate: |draw| {
        let (lo, up) = *draw.choose(&[(0.0, 1.0), (-1.0, 1.0), (0.0, 2.0), (3.0, 4.0), (-0.5, 0.0)])?;
        Ok(new_or_like(draw)?.param("lo", lo).param("up", up))
    },
    contract: |case| {
        let (lo, up) = (case.float("lo", 0.0), case.float("up", 1.0));
        if lo < up && [lo, up].iter().all(|&bound| bound.abs() <= 4.0 && dtype(case).round(bound) == bound) {
            facts_contract(contract(case))
        } else {
            Contract::Unspecified("an extraordinary interval")
        }
    },
    call: |call| {
        let (lo, up) = (call.case.float("lo", 0.0), call.case.float("up", 1.0));
        let shape = (call.size("rows", 0), call.size("columns", 0));
        let drawn = match call.case.text("form") {
            "like" => Tensor::zeros(shape, candle_dtype(dtype(call.case)), call.device)?.rand_like(lo, up)?,
            _ => typed_float!(dtype(call.case), T => {
                let number = <T as WithDType>::from_f64;
                Tensor::rand(number(lo), number(up), shape, call.device)?
            }),
        };
        check_distribution(&drawn, call.case, &Distribution::uniform(lo, up))
    },
    source: r#"
        {% if form == "like" %}
        let zeros = Tensor::zeros(({{ rows|default(0) }}, {{ columns|default(0) }}), {{ dtype|dtype }}, &device)?;
        let drawn = zeros.rand_like({{ lo|default("0.0") }}, {{ up|default("1.0") }})?;
        {% else %}
        {% set lo, up = lo|default(0)|of(dtype), up|default(1)|of(dtype) %}
        let drawn = Tensor::rand({{ lo }}, {{ up }}, ({{ rows|default(0) }}, {{ columns|default(0) }}), &device)?;
        {% endif %}
        println!("{drawn}");
    "#,
    // PyTorch draws other numbers.
    torch: "",
    reference: Some(all_hold),
    ulps: 4.0,
    differentiable: &[],
    promise: RANDOM_PROMISE,
};
