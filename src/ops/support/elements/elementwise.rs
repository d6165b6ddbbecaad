//! Cases and contracts of functions of every element of `x`, some of them with constants.

use crate::case::{Backward, Case};
use crate::generate::Draw;
use crate::number::Num;
use crate::ops::{Contract, rule, why};
use crate::tensor::{DType, Support, Tensor, Value, Values};

/// The dtypes of functions that have no kernel for integers.
pub const FLOATS: &Support = &Support { of: "x", cpu: &DType::FLOATS_AND_F8, cuda: &DType::FLOATS };

/// The dtypes of the kernel for `x mul + add`.
pub const AFFINE_DTYPES: &Support = &Support {
    of: "x",
    cpu: &DType::ALL,
    cuda: &[DType::F32, DType::F64, DType::F16, DType::Bf16, DType::U32, DType::I64, DType::U8, DType::I32, DType::I16],
};

/// A tensor of a dtype of `support`, of any shape and view.
pub fn case(draw: &mut Draw, support: &Support) -> arbitrary::Result<Case> {
    let dtype = draw.dtype(support)?;
    let shape = draw.any_shape()?;
    let mut case = Case::default().input(support.of, draw.tensor(dtype, &shape)?);
    case.backward = draw.backward()?;
    Ok(case)
}

/// A case of [`case`] without gradients, in one of these `form`s.
pub fn case_in_form(draw: &mut Draw, support: &Support, forms: &[&'static str]) -> arbitrary::Result<Case> {
    let mut case = case(draw, support)?;
    case.backward = Backward::None;
    let form = *draw.choose(forms)?;
    Ok(case.param("form", form))
}

/// Accepts, with an output of the dtype and shape of `x`.
pub fn elementwise(case: &Case) -> Contract {
    let Some(x) = case.tensor("x") else { return Contract::Rejects(&rule::SHAPES) };
    Contract::accepts(x.dtype, &x.shape)
}

/// As [`elementwise`], for a function whose values are not integers: unspecified for integers.
pub fn of_floats(case: &Case) -> Contract {
    match case.tensor("x") {
        Some(x) if !x.dtype.is_float() && x.elements() == Some(0) => Contract::Unspecified(why::NO_INTEGERS),
        Some(x) if !x.dtype.is_float() => Contract::Rejects(&rule::FLOAT_FUNCTION),
        _ => elementwise(case),
    }
}

/// As [`elementwise`], where `f` keeps all integers of `x` in its dtype: unspecified where it does not.
pub fn without_overflow(case: &Case, f: impl Fn(i128) -> i128) -> Contract {
    match case.tensor("x") {
        Some(x) if !keeps_dtype(x, f) => Contract::Unspecified(why::OVERFLOW),
        _ => elementwise(case),
    }
}

/// Whether the integers of `x` stay in its dtype under `f`; floats do.
fn keeps_dtype(x: &Tensor, f: impl Fn(i128) -> i128) -> bool {
    let Some((low, high)) = x.dtype.int_range() else { return true };
    let within = |value: i128| (i128::from(low)..=i128::from(high)).contains(&value);
    // Values that are not listed are 0 or 1.
    x.values.listed().into_iter().chain([Value::Int(1)]).all(|value| within(f(i128::from(value.as_i64()))))
}

/// Constants that most dtypes hold exactly.
pub const CONSTANTS: [f64; 8] = [1.0, 2.0, 0.5, -1.0, 3.0, 0.0, 0.1, -2.5];

/// Whether a constant is 0 or of ordinary size.
pub fn is_ordinary(constant: f64) -> bool {
    constant == 0.0 || (1e-6..=1e6).contains(&constant.abs())
}

/// Whether arithmetic of floats with `constant` has a value: it is ordinary, or the dtype of `x` holds it, as an infinity, NaN or a number
/// that it rounds as any other. Where a gradient is asked for, it must be small, since products with a large one may overflow.
pub fn has_a_value(case: &Case, constant: f64) -> bool {
    let Some(dtype) = case.tensor("x").map(|x| x.dtype) else { return false };
    let is_held = if constant.is_finite() {
        (dtype.round(constant) - constant).abs() <= dtype.unit_roundoff() * constant.abs()
    } else {
        dtype != DType::F8e4m3
    };
    let may_differentiate = case.backward.is_none() || (1e-30..1.0).contains(&constant.abs());
    is_ordinary(constant) || may_differentiate && dtype.is_float() && is_held
}

/// Whether a call with the input `name` may have this number as an argument: floats round it as any element, integers must have it.
pub fn takes_number(case: &Case, name: &str, number: f64) -> bool {
    case.tensor(name).is_none_or(|x| x.dtype.element(number).is_some())
}

/// Whether `x` has a float dtype.
pub fn is_float(case: &Case) -> bool {
    case.tensor("x").is_none_or(|x| x.dtype.is_float())
}

/// The case with integers of `x` made even and of ordinary size, so that their sums, differences, doubles and halves are
/// integers of the dtype.
pub fn evened(mut case: Case) -> Case {
    if let Some(x) = case.inputs.get_mut("x").filter(|x| !x.dtype.is_float()) {
        *x = with_integers(x, |value| 64 + 2 * (value % 16).abs());
    }
    case
}

/// `x` with `f` of every integer that it lists.
pub fn with_integers(x: &Tensor, f: impl Fn(i64) -> i64) -> Tensor {
    let convert = |value: Value| Value::Int(f(value.as_i64()));
    let values = match &x.values {
        Values::List(values) => Values::List(values.iter().map(|&value| convert(value)).collect()),
        Values::Fill(fill) => {
            let mut fill = fill.clone();
            fill.noise = None;
            fill.constant = convert(fill.constant);
            fill.except.iter_mut().for_each(|(_, value)| *value = convert(*value));
            Values::Fill(fill)
        }
    };
    Tensor { values, ..x.clone() }
}

/// `x` above 0, else `alpha (e^x - 1)`.
pub fn elu(x: Num, alpha: f64) -> Num {
    if x.value > 0.0 {
        return Num { kink: x.kink || x.value <= x.error, ..x };
    }
    let below = Num::constant(alpha, x.unit) * (x.exp() - Num::exact(1.0));
    // Its derivative may be made of the rounded value: alpha more than that.
    let slope_error = below.slope_error + 4.0 * x.unit * (alpha * x.slope).abs();
    Num { kink: below.kink || x.value == 0.0, slope_error, ..below }
}
