//! Matrices of one number.

use candle_core::{Tensor, WithDType};

use crate::case::ParamSpec;
use crate::ops::support::arguments::{COLUMNS, DTYPE, ROWS};
use crate::ops::support::call::typed;
use crate::ops::support::elements::creation::{CREATED_PROMISE, contract, dtype, filled, generate};
use crate::ops::{Contract, Op};
use crate::tensor::{DType, Support};

/// `Tensor::full(value, (rows, columns), device)`.
pub static FULL: Op = Op {
    name: "create.full",
    covers: &["Tensor::full"],
    support: UNIFORM,
    inputs: &[],
    params: &[COLUMNS, DTYPE, ROWS, ParamSpec::float("value", 0.0, "Every element.")],
    generate: &|draw| {
        let value = *draw.choose(&[0.0, 1.0, 2.0, 7.0, 96.0, 0.1])?;
        let case = generate(draw, UNIFORM)?;
        let value = if dtype(&case).is_float() { value } else { f64::trunc(value) };
        Ok(case.param("value", value))
    },
    contract: &|case| {
        let value = case.float("value");
        // Beyond its range a float is infinite, as in PyTorch; the 8-bit one has no infinity.
        let overflows = dtype(case).is_float() && dtype(case) != DType::F8e4m3;
        if overflows || dtype(case).element(value).is_some() {
            contract(case)
        } else {
            Contract::Unspecified("a value that the dtype cannot hold")
        }
    },
    call: &|call| {
        let (shape, value) = ((call.size("rows"), call.size("columns")), call.case.float("value"));
        Ok(vec![typed!(dtype(call.case), T => Tensor::full(<T as WithDType>::from_f64(value), shape, call.device)?)])
    },
    source: r"
        Tensor::full({{ value|of(dtype) }}, ({{ rows }}, {{ columns }}), &device)?
    ",
    torch: r"
        torch.full(({{ rows }}, {{ columns }}), {{ value|of(dtype) }}, dtype={{ dtype|dtype }})
    ",
    reference: Some(&|inputs| {
        let value = dtype(inputs.case).round(inputs.case.float("value"));
        filled(inputs.case, |_, _| value)
    }),
    ulps: 4.0,
    differentiable: &[],
    promise: CREATED_PROMISE,
};

/// The dtypes of constant tensors, which broadcast one value.
const UNIFORM: &Support = &Support { of: "dtype", cpu: &DType::ALL, cuda: &DType::STANDARD_AND_F8 };
