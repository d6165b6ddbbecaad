//! Table: arithmetic, `maximum` and `minimum` of two tensors, element by element, each also broadcasting.

use crate::case::{Case, InputSpec, ParamSpec};
use crate::number::Num;
use crate::ops::support::elements::elementwise::{takes_number, with_integers};
use crate::ops::support::elements::operands::{
    STANDARD, broadcasts, generate, operands, output_shape, scalar, sides, with_scalar,
};
use crate::ops::support::reference_inputs::pairs;
use crate::ops::{Contract, Op, rule, why};
use crate::tensor::{Tensor, Values};

/// An operation on integers, `None` where its value is undefined.
type Integers = fn(i128, i128) -> Option<i128>;

macro_rules! operations {
    ($(
        $(#[$doc:meta])*
        $name:ident = $method:ident, $torch:literal, $broadcast:ident, $tame:ident, $integers:expr, $value:expr;
    )*) => {$(
        $(#[$doc])*
        pub static $name: Op = Op {
            name: concat!("tensor.", stringify!($method)),
            covers: &[concat!("Tensor::", stringify!($method)), concat!("Tensor::", stringify!($broadcast))],
            support: STANDARD,
            inputs: &[InputSpec::new("lhs", "of any shape"), InputSpec::new("rhs", "shaped as `lhs`, or broadcast with it")],
            params: &[ParamSpec::word("form", &["", "broadcast"], "The method, plain or broadcasting.")],
            generate: &|draw| Ok($tame(generate(draw, STANDARD)?)),
            contract: &|case| contract(case, $integers),
            call: &|call| {
                let (lhs, rhs) = operands(call)?;
                Ok(vec![if broadcasts(call.case) { lhs.$broadcast(rhs)? } else { lhs.$method(rhs)? }])
            },
            source: concat!("lhs.{{ 'broadcast_' if form == 'broadcast' else '' }}", stringify!($method), "(&rhs)?"),
            torch: $torch,
            reference: Some(&|inputs| {
                let (lhs, rhs) = sides(inputs);
                pairs(&lhs, &rhs, $value)
            }),
            ulps: 4.0,
            differentiable: &["lhs", "rhs"],
            promise: BINARY_PROMISE,
        };
    )*};
}

operations! {
    /// `lhs + rhs`; `lhs.broadcast_add(rhs)` with `form = "broadcast"`.
    ADD = add, "lhs + rhs", broadcast_add, summands, |a, b| Some(a + b), |a, b| a + b;
    /// `lhs - rhs`.
    SUB = sub, "lhs - rhs", broadcast_sub, summands, |a, b| Some(a - b), |a, b| a - b;
    /// `lhs rhs`.
    MUL = mul, "lhs * rhs", broadcast_mul, factors, |a, b| Some(a * b), |a, b| a * b;
    /// `lhs / rhs`; for integers, rounded towards zero. An integer divided by 0 returns an `Err` or any value.
    DIV = div, "{% include 'divided' %}", broadcast_div, divided,
        |a, b| if b == 0 { Some(0) } else { Some(a / b) }, quotient;
}

macro_rules! extrema {
    ($($(#[$doc:meta])* $name:ident = $method:ident, $broadcast:ident, $value:expr;)*) => {$(
        $(#[$doc])*
        pub static $name: Op = Op {
            name: concat!("tensor.", stringify!($method)),
            covers: &[concat!("Tensor::", stringify!($method)), concat!("Tensor::", stringify!($broadcast))],
            support: STANDARD,
            inputs: &[InputSpec::new("lhs", "of any shape"), InputSpec::new("rhs", "of any shape, unless it is a number").unless("form", "scalar")],
            params: &[ParamSpec::word("form", &["", "broadcast", "scalar"], "The method."), ParamSpec::float("scalar", 0.0, "The number on the right side.").when("form", "scalar")],
            generate: &|draw| {
                let case = with_scalar(draw, &[0.0, 1.0, 2.0, 0.1])?;
                // Integers are compared with their own.
                let taken = scalar(&case).filter(|scalar| !takes_number(&case, "lhs", *scalar));
                Ok(if taken.is_some() { case.param("scalar", 1.0) } else { case })
            },
            contract: &|case| if scalar(case).is_some_and(|scalar| !takes_number(case, "lhs", scalar)) {
                Contract::Unspecified("a number that changes when it is cast")
            } else {
                contract(case, |a, _| Some(a))
            },
            call: &|call| Ok(vec![if let Some(scalar) = scalar(call.case) {
                call.tensor("lhs")?.$method(scalar)?
            } else {
                let (lhs, rhs) = operands(call)?;
                if broadcasts(call.case) { lhs.$broadcast(rhs)? } else { lhs.$method(rhs)? }
            }]),
            source: concat!(
                "lhs.{{ 'broadcast_' if form == 'broadcast' else '' }}", stringify!($method),
                "({{ scalar if form == 'scalar' else '&rhs' }})?"
            ),
            torch: concat!(
                "torch.", stringify!($method),
                "(lhs, {% if form == 'scalar' %}torch.tensor({{ scalar }}, dtype={{ inputs.lhs.dtype }})",
                "{% else %}rhs{% endif %})"
            ),
            reference: Some(&|inputs| {
                let (lhs, rhs) = sides(inputs);
                pairs(&lhs, &rhs, $value)
            }),
            ulps: 4.0,
            differentiable: &["lhs", "rhs"],
            promise: "candle-core/src/op.rs:399-400, tensor.rs:113-137; torch.maximum and torch.minimum: NaN if either is",
        };
    )*};
}

extrema! {
    /// The larger of each pair; with `form = "scalar"` `rhs` is the number `scalar`.
    MAXIMUM = maximum, broadcast_maximum, Num::max;
    /// The smaller of each pair.
    MINIMUM = minimum, broadcast_minimum, Num::min;
}

/// Where the contract of these ops comes from.
pub const BINARY_PROMISE: &str = "candle-core/src/tensor.rs:95-160, op.rs:395-400 (integers divide towards zero on \
    both backends); the torch functions of these names";

fn contract(case: &Case, integers: Integers) -> Contract {
    let (Some(lhs), shape) = (case.tensor("lhs"), output_shape(case)) else { return Contract::Rejects(&rule::SHAPES) };
    let shape = match shape {
        Ok(shape) => shape,
        Err(contract) => return contract,
    };
    let accepts = Contract::accepts(lhs.dtype, &shape);
    let (Some((low, high)), Some(rhs)) = (lhs.dtype.int_range(), case.tensor("rhs")) else { return accepts };
    // The extremes of both sides bound every result: the functions here are monotonous, or smaller than their operands; but a quotient by
    // -1 has another sign.
    let (lhs_extremes, [lowest, highest]) = (extremes(lhs), extremes(rhs));
    let rhs_extremes = [lowest, highest, (-1).clamp(lowest, highest)];
    // The reference counts in f64.
    const EXACT: i64 = 1 << 53;
    let range = i128::from(low.max(-EXACT))..=i128::from(high.min(EXACT));
    let in_range = |value: i128| range.contains(&value);
    let stays = lhs_extremes.iter().all(|&a| rhs_extremes.iter().all(|&b| integers(a, b).is_some_and(in_range)));
    let stays = stays && lhs_extremes.iter().chain(&rhs_extremes).all(|&operand| in_range(operand));
    let divides_by_0 = case.op == DIV.name && rhs.ints().contains(&0);
    // A quotient by 0 has no value that could overflow.
    let has_values = !divides_by_0 || rhs.ints().iter().any(|&divisor| divisor != 0);
    if !stays && has_values && !shape.contains(&0) {
        return Contract::Unspecified(why::OVERFLOW);
    }
    accepts.may_refuse(divides_by_0, "an integer divided by zero")
}

/// The smallest and the largest integer of `x`; values that are not listed are 0 or 1.
fn extremes(x: &Tensor) -> [i128; 2] {
    let listed = x.values.listed().into_iter().map(|value| i128::from(value.as_i64()));
    let noisy = matches!(&x.values, Values::Fill(fill) if fill.noise.is_some());
    let all: Vec<i128> = listed.chain(noisy.then_some(0)).chain(noisy.then_some(1)).collect();
    [all.iter().copied().min().unwrap_or(0), all.into_iter().max().unwrap_or(0)]
}

/// `a / b`, of integers towards zero.
fn quotient(a: Num, b: Num) -> Num {
    if a.unit != 0.0 || b.unit != 0.0 {
        return a / b;
    }
    let operands = [a, b];
    // One that an open order decides leaves the quotient open, too.
    if operands.iter().any(|number| number.indeterminate) {
        return Num { indeterminate: true, ..Num::unknown() };
    }
    let is_known = operands.iter().all(|number| number.error == 0.0) && b.value != 0.0;
    if is_known { Num::exact((a.value / b.value).trunc()) } else { Num::unknown() }
}

/// The case with `of_lhs` and `of_rhs` of its integers, so that ordinary results stay in range.
fn tamed(mut case: Case, of_lhs: impl Fn(i64) -> i64, of_rhs: impl Fn(i64) -> i64) -> Case {
    for (name, tensor) in &mut case.inputs {
        if !tensor.dtype.is_float() {
            *tensor = if name == "lhs" { with_integers(tensor, &of_lhs) } else { with_integers(tensor, &of_rhs) };
        }
    }
    case
}

/// The case with integers whose sums and differences stay in range.
fn summands(case: Case) -> Case {
    tamed(case, |value| 64 + (value % 64).abs(), |value| (value % 64).abs())
}

/// The case with integers whose products stay in range.
fn factors(case: Case) -> Case {
    tamed(case, |value| value % 11, |value| value % 11)
}

/// The case with integers that are mostly divided by small ones, rarely by 0.
fn divided(case: Case) -> Case {
    // A 0 stays where it is the only divisor.
    let alone = case.tensor("rhs").is_some_and(|rhs| rhs.elements() == Some(1));
    tamed(case, |value| value, |value| if value % 7 == 0 && !alone { 2 } else { value % 7 })
}
