//! Functions of every element and of constants: `affine`, `powf`, `elu`, `clamp`, `round_to`, and `Tensor op f64`.

use crate::case::Case;
use crate::generate::Draw;
use crate::number::Num;
use crate::ops::support::reference_inputs::each;
use crate::ops::tensor::unary::{case, elementwise, in_range, of_floats};
use crate::ops::{Contract, Op};
use crate::tensor::{DType, Support, Tensor, Value};

const FLOATS: &Support = &Support { of: "x", cpu: &DType::FLOATS_AND_F8, cuda: &DType::FLOATS };
const ANY: &Support = &Support { of: "x", cpu: &DType::ALL, cuda: &DType::STANDARD };
const NINE: [DType; 9] =
    [DType::F32, DType::F64, DType::F16, DType::Bf16, DType::U32, DType::I64, DType::U8, DType::I32, DType::I16];
const AFFINE_DTYPES: &Support = &Support { of: "x", cpu: &DType::ALL, cuda: &NINE };

/// `x.affine(mul, add)`: `x mul + add`. The constants are cast to the dtype first, as documented.
pub static AFFINE: Op = Op {
    name: "tensor.affine",
    covers: &["Tensor::affine"],
    support: AFFINE_DTYPES,
    generate: |draw| {
        let case = evened(case(draw, AFFINE_DTYPES)?);
        let choices: &[f64] = if is_float(&case) { &CONSTANTS } else { &[0.0, 1.0, 2.0] };
        let (mul, add) = (*draw.choose(choices)?, *draw.choose(choices)?);
        Ok(case.param("mul", mul).param("add", add))
    },
    contract: |case| {
        let (mul, add) = (case.float("mul", 1.0), case.float("add", 0.0));
        let whole = |value: f64| value.fract() == 0.0 && value >= 0.0;
        match case.tensor("x") {
            Some(x) if !(x.dtype.is_float() || whole(mul) && whole(add)) => {
                Contract::Unspecified("a constant that the cast changes")
            }
            _ if !(ordinary(mul) && ordinary(add)) => Contract::Unspecified("an extraordinary constant"),
            _ => in_range(case, |x| x * mul as i128 + add as i128),
        }
    },
    call: |call| Ok(vec![call.tensor("x")?.affine(call.case.float("mul", 1.0), call.case.float("add", 0.0))?]),
    source: "x.affine({{ mul|default('1.0') }}, {{ add|default('0.0') }})?",
    torch: "x * {{ mul|default(1)|of(inputs.x.name) }} + {{ add|default(0)|of(inputs.x.name) }}",
    reference: Some(|inputs| {
        each(inputs, "x", |x| {
            let constant = |name, default| Num::constant(inputs.case.float(name, default), x.unit);
            x * constant("mul", 1.0) + constant("add", 0.0)
        })
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-core/src/tensor.rs:776-796: the constants are cast to the dtype",
};

macro_rules! operators {
    ($($(#[$doc:meta])* $name:ident = $text:literal, $op:tt, $torch:literal, $support:ident, $integers:expr;)*) => {$(
        $(#[$doc])*
        pub static $name: Op = Op {
    name: concat!("tensor.", $text, "_scalar"),
    covers: &[concat!("Tensor::", $text)],
    support: $support,
    generate: |draw| operands(draw, $support, &$integers),
    contract: |case| operator(case, |a, b| a $op b),
    call: |call| {
                let (x, scalar) = (call.tensor("x")?, call.case.float("scalar", 1.0));
                Ok(vec![if scalar_left(call.case) { (scalar $op x)? } else { (x $op scalar)? }])
            },
    source: concat!(
                "{% set scalar = scalar|default('1.0') %}\n",
                "{% if form == 'left' %}({{ scalar }} ", stringify!($op), " &x)?\n",
                "{% else %}(&x ", stringify!($op), " {{ scalar }})?{% endif %}"
            ),
    torch: concat!(
                "{% set scalar = scalar|default(1)|of(inputs.x.name) %}\n",
                "{% set (a, b) = (scalar, 'x') if form == 'left' else ('x', scalar) %}\n",
                $torch
            ),
    reference: Some(|inputs| {
                each(inputs, "x", |x| {
                    let scalar = Num::constant(inputs.case.float("scalar", 1.0), x.unit);
                    if scalar_left(inputs.case) { scalar $op x } else { x $op scalar }
                })
            }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-core/src/tensor.rs:3011-3140; a tensor and a number in torch, and in integers what a whole \
                      result must be",
};
    )*};
}

operators! {
    /// `x + scalar`, or `scalar + x` with `form = "left"`.
    ADD_SCALAR = "add", +, "{{ a }} + {{ b }}", AFFINE_DTYPES, [0.0, 1.0, 2.0, -1.0];
    /// `x - scalar`, or `scalar - x`.
    SUB_SCALAR = "sub", -, "{{ a }} - {{ b }}", AFFINE_DTYPES, [0.0, 1.0, 2.0];
    /// `x scalar`.
    MUL_SCALAR = "mul", *, "{{ a }} * {{ b }}", AFFINE_DTYPES, [0.0, 1.0, 2.0];
    /// `x / scalar`, or `scalar / x`.
    DIV_SCALAR = "div", /, "{% include 'divided' %}", AFFINE_DTYPES, [1.0, 2.0, 0.5];
}

/// `x.powf(e)`.
pub static POWF: Op = Op {
    name: "tensor.powf",
    covers: &["Tensor::powf"],
    support: FLOATS,
    generate: |draw| {
        let exponent = *draw.choose(&[2.0, 3.0, 0.5, -1.0, 1.5, 1.0, 0.0, -0.5])?;
        Ok(case(draw, FLOATS)?.param("e", exponent))
    },
    contract: |case| {
        let exponent = case.float("e", 1.0);
        if exponent.abs() <= 8.0 && (exponent * 8.0).fract() == 0.0 {
            of_floats(case)
        } else {
            Contract::Unspecified("an extraordinary exponent")
        }
    },
    call: |call| Ok(vec![call.tensor("x")?.powf(call.case.float("e", 1.0))?]),
    source: "x.powf({{ e|default('1.0') }})?",
    torch: "x.pow({{ e|default('1.0') }})",
    reference: Some(|inputs| each(inputs, "x", |x| x.powf(inputs.case.float("e", 1.0)))),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-core/src/tensor.rs:807-816, backprop.rs:652-656; torch.pow, whose derivative for the exponent 0 is 0",
};

/// `x.elu(alpha)`: `x` above 0, else `alpha (e^x - 1)`.
pub static ELU: Op = Op {
    name: "tensor.elu",
    covers: &["Tensor::elu"],
    support: FLOATS,
    generate: |draw| {
        let alpha = *draw.choose(&[1.0, 0.5, 2.0, -1.0, 0.0])?;
        Ok(case(draw, FLOATS)?.param("alpha", alpha))
    },
    contract: |case| {
        if ordinary(case.float("alpha", 1.0)) {
            of_floats(case)
        } else {
            Contract::Unspecified("an extraordinary constant")
        }
    },
    call: |call| Ok(vec![call.tensor("x")?.elu(call.case.float("alpha", 1.0))?]),
    source: "x.elu({{ alpha|default('1.0') }})?",
    torch: "F.elu(x, {{ alpha|default('1.0') }})",
    reference: Some(|inputs| each(inputs, "x", |x| elu(x, inputs.case.float("alpha", 1.0)))),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-core/src/tensor.rs:797-806; torch.nn.ELU",
};

/// `x.clamp(min, max)` with numbers.
pub static CLAMP: Op = Op {
    name: "tensor.clamp",
    covers: &["Tensor::clamp"],
    support: ANY,
    generate: |draw| {
        let (min, max) = *draw.choose(&[(0.0, 1.0), (-1.0, 1.0), (0.0, 2.0), (0.5, 6.0), (1.0, 1.0)])?;
        let case = case(draw, ANY)?;
        let whole = |value: f64| if is_float(&case) { value } else { value.max(0.0).trunc() };
        let (min, max) = (whole(min), whole(max));
        Ok(case.param("min", min).param("max", max))
    },
    contract: |case| {
        let fits = |bound: f64| ordinary(bound) && bounds(case, bound);
        if fits(case.float("min", 0.0)) && fits(case.float("max", 1.0)) {
            elementwise(case)
        } else {
            Contract::Unspecified("a bound that the cast changes")
        }
    },
    call: |call| Ok(vec![call.tensor("x")?.clamp(call.case.float("min", 0.0), call.case.float("max", 1.0))?]),
    source: "x.clamp({{ min|default('0.0') }}, {{ max|default('1.0') }})?",
    torch: "x.clamp({{ min|default(0)|of(inputs.x.name) }}, {{ max|default(1)|of(inputs.x.name) }})",
    reference: Some(|inputs| {
        let bound = |name, default| Num::exact(inputs.case.float(name, default));
        each(inputs, "x", |x| x.max(bound("min", 0.0)).min(bound("max", 1.0)))
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-core/src/tensor.rs:1179-1182; torch.clamp, also where min is above max; NaN passes through",
};

/// `x.round_to(decimals)`: the nearest multiple of `10^-decimals`.
pub static ROUND_TO: Op = Op {
    name: "tensor.round_to",
    covers: &["Tensor::round_to"],
    support: FLOATS,
    generate: |draw| {
        let decimals = *draw.choose(&[0_i64, 1, 2, 3, -1, -2])?;
        Ok(case(draw, FLOATS)?.param("decimals", decimals))
    },
    contract: |case| {
        // Of an infinite power PyTorch makes NaN, too.
        let has_power = |decimals| 10f64.powi(decimals).is_normal();
        if i32::try_from(case.int("decimals", 0)).is_ok_and(has_power) {
            of_floats(case)
        } else {
            Contract::Unspecified("decimals of which the power of ten is no f64")
        }
    },
    call: |call| Ok(vec![call.tensor("x")?.round_to(i32::try_from(call.case.int("decimals", 0)).unwrap_or(0))?]),
    source: "x.round_to({{ decimals|default(0) }})?",
    torch: r"
        # Halves go to even here, away from zero in candle.
        x.round(decimals={{ decimals|default(0) }})
    ",
    reference: Some(|inputs| each(inputs, "x", |x| rounded_to(x, inputs.case.int("decimals", 0)))),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-core/src/tensor.rs:653-660 (its documentation); torch.round",
};

/// Constants that most dtypes hold exactly.
const CONSTANTS: [f64; 8] = [1.0, 2.0, 0.5, -1.0, 3.0, 0.0, 0.1, -2.5];

/// `x` above 0, else `alpha (e^x - 1)`.
pub fn elu(x: Num, alpha: f64) -> Num {
    if x.value > 0.0 {
        return x;
    }
    let below = Num::constant(alpha, x.unit) * (x.exp() - Num::exact(1.0));
    // Its derivative may be made of the rounded value: alpha more than that.
    let slope_error = below.slope_error + 4.0 * x.unit * (alpha * x.slope).abs();
    Num { kink: below.kink || x.value == 0.0, slope_error, ..below }
}

fn rounded_to(x: Num, decimals: i64) -> Num {
    let scale = 10f64.powi(i32::try_from(decimals).unwrap_or(0));
    (x * Num::constant(scale, x.unit)).step(f64::round) * Num::constant(1.0 / scale, x.unit)
}

/// Whether a constant is 0 or of ordinary size.
fn ordinary(constant: f64) -> bool {
    constant == 0.0 || (1e-6..=1e6).contains(&constant.abs())
}

/// Whether the dtype of `x` holds this number.
pub fn bounds(case: &Case, number: f64) -> bool {
    case.tensor("x").is_none_or(|x| x.dtype.round(number) == number)
}

fn is_float(case: &Case) -> bool {
    case.tensor("x").is_none_or(|x| x.dtype.is_float())
}

fn scalar_left(case: &Case) -> bool {
    case.text("form") == "left"
}

fn operands(draw: &mut Draw, support: &Support, integers: &[f64]) -> arbitrary::Result<Case> {
    let case = evened(case(draw, support)?);
    let left = draw.one_in(2)? && is_float(&case);
    let case = if left { case.param("form", "left") } else { case };
    let scalar = *draw.choose(if is_float(&case) { &CONSTANTS } else { integers })?;
    // Division by zero is no ordinary division, whatever it gives.
    let divides = integers.first() == Some(&1.0) && !left;
    Ok(case.param("scalar", if divides && scalar == 0.0 { 1.0 } else { scalar }))
}

fn operator(case: &Case, apply: impl Fn(f64, f64) -> f64) -> Contract {
    let scalar = case.float("scalar", 1.0);
    if !ordinary(scalar) || !apply(1.0, scalar).is_finite() {
        return Contract::Unspecified("an extraordinary constant");
    }
    let left = scalar_left(case);
    let Some(range) = case.tensor("x").and_then(|x| x.dtype.int_range()) else { return elementwise(case) };
    let whole = |x: i64| {
        let x = x as f64;
        let result = if left { apply(scalar, x) } else { apply(x, scalar) };
        let small = result.abs() < 1e15 && x.abs() < 1e15;
        result.fract() == 0.0 && small && (range.0..=range.1).contains(&(result as i64))
    };
    if case.tensor("x").is_none_or(|x| x.ints().into_iter().all(whole)) {
        elementwise(case)
    } else {
        Contract::Unspecified("no integer, or one out of range")
    }
}

/// Integers of `x` made even and of ordinary size, so that sums, differences, doubles and halves stay what they are.
fn evened(mut case: Case) -> Case {
    if let Some(x) = case.inputs.get_mut("x").filter(|x| !x.dtype.is_float()) {
        *x = with_integers(x, |value| 64 + 2 * (value % 16).abs());
    }
    case
}

/// `x` with `f` of every integer that it lists.
pub fn with_integers(x: &Tensor, f: impl Fn(i64) -> i64) -> Tensor {
    use crate::tensor::Values;
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
