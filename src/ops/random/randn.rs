//! Normal values.

use candle_core::{Tensor, WithDType};

use crate::case::ParamSpec;
use crate::ops::support::arguments::{COLUMNS, DTYPE, ROWS};
use crate::ops::support::call::{candle_dtype, typed_float};
use crate::ops::support::creation::{contract, dtype};
use crate::ops::support::random_facts::{
    CREATED, Distribution, RANDOM_PROMISE, all_hold, check_distribution, facts_contract, new_or_like,
};
use crate::ops::{Contract, Op};

/// `Tensor::randn(mean, std, (rows, columns), device)`, or `randn_like`.
pub static RANDN: Op = Op {
    name: "random.randn",
    covers: &["Tensor::randn", "Tensor::randn_like"],
    support: CREATED,
    inputs: &[],
    params: &[
        COLUMNS,
        DTYPE,
        ParamSpec::word("form", &["new", "like"], "The function, or its `_like` form."),
        ParamSpec::float("mean", 0.0, "The mean."),
        ROWS,
        ParamSpec::float("std", 1.0, "The standard deviation."),
    ],
    generate: |draw| {
        let (mean, std) = *draw.choose(&[(0.0, 1.0), (0.0, 0.5), (2.0, 0.25), (-1.0, 1.0)])?;
        Ok(new_or_like(draw)?.param("mean", mean).param("std", std))
    },
    contract: |case| {
        let (mean, std) = (case.float("mean", 0.0), case.float("std", 1.0));
        if mean.abs() <= 4.0 && (0.125..=4.0).contains(&std) {
            facts_contract(contract(case))
        } else {
            Contract::Unspecified("an extraordinary distribution")
        }
    },
    call: |call| {
        let (mean, std) = (call.case.float("mean", 0.0), call.case.float("std", 1.0));
        let shape = (call.size("rows", 0), call.size("columns", 0));
        let drawn = match call.case.text("form") {
            "like" => Tensor::zeros(shape, candle_dtype(dtype(call.case)), call.device)?.randn_like(mean, std)?,
            _ => typed_float!(dtype(call.case), T => {
                let number = <T as WithDType>::from_f64;
                Tensor::randn(number(mean), number(std), shape, call.device)?
            }),
        };
        check_distribution(&drawn, call.case, &Distribution::normal(mean, std))
    },
    source: r#"
        {% if form == "like" %}
        let zeros = Tensor::zeros(({{ rows|default(0) }}, {{ columns|default(0) }}), {{ dtype|dtype }}, &device)?;
        let drawn = zeros.randn_like({{ mean|default("0.0") }}, {{ std|default("1.0") }})?;
        {% else %}
        {% set mean, std = mean|default(0)|of(dtype), std|default(1)|of(dtype) %}
        let drawn = Tensor::randn({{ mean }}, {{ std }}, ({{ rows|default(0) }}, {{ columns|default(0) }}), &device)?;
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
