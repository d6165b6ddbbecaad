//! Table: arithmetic of a tensor and a number, on either side.

use crate::case::{Case, ParamSpec};
use crate::generate::Draw;
use crate::number::Num;
use crate::ops::support::arguments::ANY;
use crate::ops::support::elements::elementwise::{
    AFFINE_DTYPES, CONSTANTS, case, elementwise, evened, has_a_value, is_float, is_ordinary, of_floats,
};
use crate::ops::support::reference_inputs::each;
use crate::ops::{Contract, Op};
use crate::tensor::Support;

macro_rules! operators {
    ($($(#[$doc:meta])* $name:ident = $text:literal, $op:tt, $torch:literal, $support:ident, $integers:expr;)*) => {$(
        $(#[$doc])*
        pub static $name: Op = Op {
            name: concat!("tensor.", $text, "_scalar"),
            covers: &[concat!("Tensor::", $text)],
            support: $support,
            inputs: &[ANY],
            params: &[
                ParamSpec::word("form", &["", "left"], "The side that the number is on."),
                ParamSpec::float("scalar", 1.0, "The number."),
            ],
            generate: &|draw| generate(draw, $support, &$integers),
            contract: &|case| contract(case, $text == "div", |a, b| a $op b),
            call: &|call| {
                let (x, scalar) = (call.tensor("x")?, call.case.float("scalar"));
                Ok(vec![if scalar_is_left(call.case) { (scalar $op x)? } else { (x $op scalar)? }])
            },
            source: concat!(
                "{% if form == 'left' %}({{ scalar }} ", stringify!($op), " &x)?\n",
                "{% else %}(&x ", stringify!($op), " {{ scalar }})?{% endif %}"
            ),
            torch: concat!(
                "{% set scalar = scalar|of(inputs.x.name) %}\n",
                "{% set (a, b) = (scalar, 'x') if form == 'left' else ('x', scalar) %}\n",
                $torch
            ),
            reference: Some(&|inputs| {
                each(inputs, "x", |x| {
                    let scalar = Num::constant(inputs.case.float("scalar"), x.unit);
                    if scalar_is_left(inputs.case) { scalar $op x } else { x $op scalar }
                })
            }),
            ulps: 4.0,
            differentiable: &["x"],
            promise: "candle-core/src/tensor.rs:3011-3140; a tensor and a number in torch; whole \
                      results of integers are exact",
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

/// Whether the number is on the left side.
fn scalar_is_left(case: &Case) -> bool {
    case.text("form") == "left"
}

/// A case of `x` and a number: of `integers` if `x` has an integer dtype.
fn generate(draw: &mut Draw, support: &Support, integers: &[f64]) -> arbitrary::Result<Case> {
    let case = evened(case(draw, support)?);
    let left = draw.one_in(2)? && is_float(&case);
    let case = if left { case.param("form", "left") } else { case };
    let scalar = *draw.choose(if is_float(&case) { &CONSTANTS } else { integers })?;
    // No division by zero, whose value depends on the dtype; and the contract says nothing of 0 on either side.
    let divides = integers.first() == Some(&1.0);
    Ok(case.param("scalar", if divides && scalar == 0.0 { 1.0 } else { scalar }))
}

fn contract(case: &Case, divides: bool, apply: impl Fn(f64, f64) -> f64) -> Contract {
    // candle multiplies by the reciprocal, a function of floats, and PyTorch returns floats.
    if divides && scalar_is_left(case) && !is_float(case) {
        return of_floats(case);
    }
    let scalar = case.float("scalar");
    let (left, of_one) = (scalar_is_left(case), apply(1.0, scalar));
    // The product with a reciprocal overflows where a quotient need not.
    let has_a_value = |constant| if divides && left { is_ordinary(constant) } else { has_a_value(case, constant) };
    let is_open = if is_float(case) {
        scalar.is_finite() != of_one.is_finite() || !has_a_value(scalar) || !has_a_value(of_one)
    } else {
        !scalar.is_finite() || !of_one.is_finite()
    };
    if is_open {
        return Contract::Unspecified("an extraordinary constant");
    }
    let Some(range) = case.tensor("x").and_then(|x| x.dtype.int_range()) else { return elementwise(case) };
    let whole = |x: i64| {
        let x = x as f64;
        let result = if left { apply(scalar, x) } else { apply(x, scalar) };
        // Integers that f64 tells apart.
        let exact = 1.0 / f64::EPSILON;
        let small = result.abs() <= exact && x.abs() <= exact;
        result.fract() == 0.0 && small && (range.0..=range.1).contains(&(result as i64))
    };
    if case.tensor("x").is_none_or(|x| x.ints().into_iter().all(whole)) {
        elementwise(case)
    } else {
        Contract::Unspecified("a result that is not an integer of the dtype")
    }
}
