//! Conversions between all dtypes.

use crate::case::{Case, ParamSpec};
use crate::number::Num;
use crate::ops::support::arguments::ANY;
use crate::ops::support::call::candle_dtype;
use crate::ops::support::reference_inputs::each;
use crate::ops::{Contract, Op, rule, why};
use crate::tensor::{DType, Support};

/// `x.to_dtype(to)`: floats round to nearest, ties to even; floats become integers towards zero.
pub static TO_DTYPE: Op = Op {
    name: "tensor.to_dtype",
    covers: &["Tensor::to_dtype"],
    support: &Support { of: "x", cpu: &DType::ALL, cuda: &DType::STANDARD },
    inputs: &[ANY],
    params: &[ParamSpec::dtype("to", "The new dtype.").required()],
    generate: &|draw| {
        let dtype = draw.dtype(TO_DTYPE.support)?;
        let to = *draw.choose(&DType::ALL)?;
        let shape = draw.any_shape()?;
        let mut case = Case::default().input("x", draw.tensor(dtype, &shape)?).param("to", to.name());
        // Backward from f8e4m3 is very slow on candle's CPU backend: draw it rarely.
        if to.is_float() && (to != DType::F8e4m3 || draw.one_in(16)?) {
            case.backward = draw.backward()?;
        }
        Ok(case)
    },
    contract: &|case| {
        let Some(x) = case.tensor("x") else { return Contract::Rejects(&rule::SHAPES) };
        let Some(to) = target(case) else { return Contract::Unspecified(why::NO_CALL) };
        Contract::accepts(to, &x.shape).may_refuse(lacks_a_kernel(x.dtype, to), why::DTYPE)
    },
    call: &|call| Ok(vec![call.tensor("x")?.to_dtype(candle_dtype(target(call.case).unwrap_or(DType::F32)))?]),
    source: "x.to_dtype({{ to|dtype }})?",
    torch: "x.to({{ to|dtype }})",
    reference: Some(&|inputs| {
        let to = target(inputs.case).unwrap_or(DType::F32);
        each(inputs, "x", |x| converted(x, to))
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-core/src/tensor.rs:2472-2490; IEEE 754 conversions; out of range of an integer, or of f8e4m3, \
         unspecified",
};

fn target(case: &Case) -> Option<DType> {
    DType::named(case.text("to"))
}

/// Pairs for which candle's CUDA backend has no kernel (candle-kernels/src/cast.cu).
fn lacks_a_kernel(from: DType, to: DType) -> bool {
    let short = |dtype| matches!(dtype, DType::F16 | DType::Bf16);
    let standard = |dtype| DType::STANDARD.contains(&dtype);
    let wide = |a, b| a == DType::I64 && short(b);
    from != to && (!standard(from) || !standard(to) || wide(from, to) || wide(to, from))
}

fn converted(x: Num, to: DType) -> Num {
    if let Some((low, high)) = to.int_range() {
        let whole = x.value.trunc();
        let fits = x.error == 0.0 && whole >= low as f64 && whole <= high as f64 && whole.abs() < 9e15;
        return if fits { Num::exact(whole) } else { Num::unknown() };
    }
    let unit = to.unit_roundoff();
    let rounded = Num { value: to.round(x.value), unit: x.unit.max(unit), ..x };
    let from_integer = x.unit == 0.0;
    let saturates = to == DType::F8e4m3 && (x.value.is_nan() || x.value.abs() > to.max());
    if saturates || from_integer && x.value.abs() > 9e15 {
        return Num { value: x.value, error: f64::INFINITY, slope_error: f64::INFINITY, kink: true, ..x };
    }
    let slope_error = x.slope_error + unit * x.slope.abs();
    // A number that is known exactly has one rounding; integers may be converted by way of f32.
    if x.error == 0.0 && x.peak == 0.0 && !(from_integer && x.value.abs() > f64::from(1 << 24)) {
        return Num { slope_error, ..rounded };
    }
    Num { value: x.value, error: x.error + unit * x.value.abs() + to.smallest(), slope_error, ..rounded }
}
