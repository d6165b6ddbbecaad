//! Matrices of one number.

use candle_core::{Tensor, WithDType};

use crate::case::ParamSpec;
use crate::ops::support::arguments::{COLUMNS, DTYPE, ROWS};
use crate::ops::support::call::typed;
use crate::ops::support::creation::{CREATED_PROMISE, contract, dtype, filled, generate};
use crate::ops::{Contract, Op};
use crate::tensor::{DType, Support};

/// `Tensor::full(value, (rows, columns), device)`.
pub static FULL: Op = Op {
    name: "create.full",
    covers: &["Tensor::full"],
    support: UNIFORM,
    inputs: &[],
    params: &[COLUMNS, DTYPE, ROWS, ParamSpec::float("value", 0.0, "Every element.")],
    generate: |draw| {
        let value = *draw.choose(&[0.0, 1.0, 2.0, 7.0, 96.0])?;
        Ok(generate(draw, UNIFORM)?.param("value", value))
    },
    contract: |case| {
        let value = case.float("value", 0.0);
        if dtype(case).round(value) == value {
            contract(case)
        } else {
            Contract::Unspecified("a value that the dtype rounds")
        }
    },
    call: |call| {
        let (shape, value) = ((call.size("rows", 0), call.size("columns", 0)), call.case.float("value", 0.0));
        Ok(vec![typed!(dtype(call.case), T => Tensor::full(<T as WithDType>::from_f64(value), shape, call.device)?)])
    },
    source: r"
        {% set rows, columns = rows|default(0), columns|default(0) %}
        Tensor::full({{ value|default(0)|of(dtype) }}, ({{ rows }}, {{ columns }}), &device)?
    ",
    torch: r"
        {% set rows, columns = rows|default(0), columns|default(0) %}
        torch.full(({{ rows }}, {{ columns }}), {{ value|default(0)|of(dtype) }}, dtype={{ dtype|dtype }})
    ",
    reference: Some(|inputs| filled(inputs.case, |_, _| inputs.case.float("value", 0.0))),
    ulps: 4.0,
    differentiable: &[],
    promise: CREATED_PROMISE,
};

/// The dtypes of constant tensors, which broadcast one value.
const UNIFORM: &Support = &Support { of: "dtype", cpu: &DType::ALL, cuda: &DType::STANDARD_AND_F8 };
