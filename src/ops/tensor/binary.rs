//! Functions of two tensors, element by element: arithmetic, `maximum`, `minimum` and `pow`, each also broadcasting.

use candle_core::{Result, Tensor};

use crate::case::Case;
use crate::generate::Draw;
use crate::number::Num;
use crate::ops::support::reference_inputs::{broadcast_shape, pairs};
use crate::ops::tensor::scalar::with_integers;
use crate::ops::{Call, Contract, Op, ReferenceInputs, why};
use crate::tensor::{self, DType, Support, product};

/// What is in every dtype a kernel of both backends, or of the CPU.
pub const STANDARD: &Support = &Support { of: "lhs", cpu: &DType::ALL, cuda: &DType::STANDARD };
const FLOATS: &Support = &Support { of: "lhs", cpu: &DType::FLOATS_AND_F8, cuda: &DType::FLOATS };

/// The value of an operation on integers, `None` where it has none.
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
    generate: |draw| Ok($tame(generate(draw, STANDARD)?)),
    contract: |case| contract(case, $integers),
    call: |call| {
                let (lhs, rhs) = arguments(call)?;
                Ok(vec![if broadcasts(call.case) { lhs.$broadcast(rhs)? } else { lhs.$method(rhs)? }])
            },
    source: concat!("lhs.{{ 'broadcast_' if form == 'broadcast' else '' }}", stringify!($method), "(&rhs)?"),
    torch: $torch,
    reference: Some(|inputs| pairs(&inputs.array("lhs"), &right(inputs), $value)),
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
    /// `lhs / rhs`, in integers towards zero. An integer over 0 is refused, or anything.
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
    generate: |draw| with_scalar(draw, &[0.0, 1.0, 2.0]),
    contract: |case| if scalar_changes(case) {
                Contract::Unspecified("a number that the cast changes")
            } else {
                contract(case, |a, _| Some(a))
            },
    call: |call| Ok(vec![if let Some(scalar) = scalar(call.case) {
                call.tensor("lhs")?.$method(scalar)?
            } else {
                let (lhs, rhs) = arguments(call)?;
                if broadcasts(call.case) { lhs.$broadcast(rhs)? } else { lhs.$method(rhs)? }
            }]),
    source: concat!(
                "lhs.{{ 'broadcast_' if form == 'broadcast' else '' }}", stringify!($method),
                "({{ scalar|default('0.0') if form == 'scalar' else '&rhs' }})?"
            ),
    torch: concat!(
                "torch.", stringify!($method),
                "(lhs, {% if form == 'scalar' %}torch.tensor({{ scalar|default('0.0') }}, dtype={{ inputs.lhs.dtype }})",
                "{% else %}rhs{% endif %})"
            ),
    reference: Some(|inputs| pairs(&inputs.array("lhs"), &right(inputs), $value)),
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

/// `lhs^rhs`.
pub static POW: Op = Op {
    name: "tensor.pow",
    covers: &["Tensor::pow", "Tensor::broadcast_pow"],
    support: FLOATS,
    generate: |draw| generate(draw, FLOATS),
    contract: |case| match case.tensor("lhs") {
        Some(lhs) if !lhs.dtype.is_float() => Contract::Unspecified("a float function of integers"),
        _ => contract(case, |a, _| Some(a)),
    },
    call: |call| {
        let (lhs, rhs) = arguments(call)?;
        Ok(vec![if broadcasts(call.case) { lhs.broadcast_pow(rhs)? } else { lhs.pow(rhs)? }])
    },
    source: "lhs.{{ 'broadcast_' if form == 'broadcast' else '' }}pow(&rhs)?",
    torch: "lhs.pow(rhs)",
    reference: Some(|inputs| pairs(&inputs.array("lhs"), &inputs.array("rhs"), power)),
    ulps: 4.0,
    differentiable: &["lhs", "rhs"],
    promise: "candle-core/src/tensor.rs:2933-2941: the pointwise power, as torch.pow: also of negative numbers by whole \
              exponents, and x^0 = 1",
};

/// Where the contract of these ops comes from.
pub const BINARY_PROMISE: &str = "candle-core/src/tensor.rs:95-160, op.rs:395-400 (integers divide towards zero on both backends); the torch \
              functions of these names";

/// Two tensors of one dtype and shape, or with `form = "broadcast"` of shapes that fit.
pub fn generate(draw: &mut Draw, support: &Support) -> arbitrary::Result<Case> {
    let dtype = draw.dtype(support)?;
    let shape = draw.any_shape()?;
    let (mut left, mut right) = (shape.clone(), shape.clone());
    let broadcasts = draw.one_in(2)?;
    if broadcasts {
        for shape in [&mut left, &mut right] {
            if draw.one_in(2)? {
                shape.drain(..draw.between(0, shape.len())?);
            }
        }
        for (dim, _) in shape.iter().enumerate() {
            let side = if draw.one_in(2)? { &mut left } else { &mut right };
            if draw.one_in(2)? && dim < side.len() {
                side[dim] = 1;
            }
        }
    }
    let case = Case::default().input("lhs", draw.tensor(dtype, &left)?).input("rhs", draw.tensor(dtype, &right)?);
    let mut case = if broadcasts { case.param("form", "broadcast") } else { case };
    case.backward = draw.backward()?;
    Ok(case)
}

/// The same, or with `form = "scalar"` a tensor and one of these numbers.
pub fn with_scalar(draw: &mut Draw, scalars: &[f64]) -> arbitrary::Result<Case> {
    let mut case = generate(draw, STANDARD)?;
    if draw.one_in(3)? {
        case.inputs.remove("rhs");
        case = case.param("form", "scalar").param("scalar", *draw.choose(scalars)?);
    }
    Ok(case)
}

/// The number on the right side, if there is one.
pub fn scalar(case: &Case) -> Option<f64> {
    (case.text("form") == "scalar").then(|| case.float("scalar", 0.0))
}

/// Whether the broadcasting form is called.
pub fn broadcasts(case: &Case) -> bool {
    case.text("form") == "broadcast"
}

/// Both tensors.
pub fn arguments<'a>(call: &'a Call) -> Result<(&'a Tensor, &'a Tensor)> {
    Ok((call.tensor("lhs")?, call.tensor("rhs")?))
}

/// The right side in `f64`.
pub fn right(inputs: &ReferenceInputs) -> ndarray::ArrayD<Num> {
    let number = |scalar| ndarray::ArrayD::from_elem(ndarray::IxDyn(&[]), Num::exact(scalar));
    scalar(inputs.case).map_or_else(|| inputs.array("rhs"), number)
}

/// The shape of the result of two tensors, or of one and a number; an `Err` where they do not fit.
pub fn shape(case: &Case) -> std::result::Result<Vec<usize>, Contract> {
    let Some(lhs) = case.tensor("lhs") else { return Err(Contract::Rejects(why::SHAPES)) };
    if scalar(case).is_some() {
        return Ok(lhs.shape.clone());
    }
    let Some(rhs) = case.tensor("rhs") else { return Err(Contract::Rejects(why::SHAPES)) };
    let shape = if broadcasts(case) {
        broadcast_shape(&lhs.shape, &rhs.shape)
    } else {
        (lhs.shape == rhs.shape).then(|| lhs.shape.clone())
    };
    let Some(shape) = shape else { return Err(Contract::Rejects(why::SHAPES)) };
    if lhs.dtype != rhs.dtype {
        let empty = shape.contains(&0);
        return Err(if empty { Contract::Unspecified(why::MIXED) } else { Contract::Rejects(why::MIXED) });
    }
    if product(&shape).is_none_or(|n| n > 1 << 22) {
        return Err(Contract::Unspecified(why::TOO_LARGE));
    }
    Ok(shape)
}

fn contract(case: &Case, integers: Integers) -> Contract {
    let (Some(lhs), shape) = (case.tensor("lhs"), shape(case)) else { return Contract::Rejects(why::SHAPES) };
    let shape = match shape {
        Ok(shape) => shape,
        Err(contract) => return contract,
    };
    let accepts = Contract::accepts(lhs.dtype, &shape);
    let (Some((low, high)), Some(rhs)) = (lhs.dtype.int_range(), case.tensor("rhs")) else { return accepts };
    // The extremes of both sides bound every result of the functions here, which are monotonous or smaller.
    let (left, right) = (extremes(lhs), extremes(rhs));
    // The reference counts in f64.
    const EXACT: i64 = 1 << 53;
    let range = i128::from(low.max(-EXACT))..=i128::from(high.min(EXACT));
    let in_range = |value: i128| range.contains(&value);
    let stays = left.iter().all(|&a| right.iter().all(|&b| integers(a, b).is_some_and(in_range)));
    let stays = stays && left.iter().chain(&right).all(|&operand| in_range(operand));
    if !stays && !shape.contains(&0) {
        return Contract::Unspecified("integer overflow");
    }
    accepts.may_refuse(case.op == DIV.name && rhs.ints().contains(&0), "an integer divided by zero")
}

/// The smallest and the largest integer of `x`; what is not listed is 0 or 1.
fn extremes(x: &tensor::Tensor) -> [i128; 2] {
    let listed = x.values.listed().into_iter().map(|value| i128::from(value.as_i64()));
    let noisy = matches!(&x.values, tensor::Values::Fill(fill) if fill.noise.is_some());
    let all: Vec<i128> = listed.chain(noisy.then_some(0)).chain(noisy.then_some(1)).collect();
    [all.iter().copied().min().unwrap_or(0), all.into_iter().max().unwrap_or(0)]
}

/// Whether a number on the right side is another one in the dtype of `lhs`.
fn scalar_changes(case: &Case) -> bool {
    let dtype = case.tensor("lhs").map_or(DType::F32, |lhs| lhs.dtype);
    scalar(case).is_some_and(|scalar| !scalar.is_finite() || dtype.round(scalar) != scalar)
}

fn quotient(a: Num, b: Num) -> Num {
    if a.unit != 0.0 || b.unit != 0.0 {
        return a / b;
    }
    if b.value == 0.0 { Num::unknown() } else { Num::exact((a.value / b.value).trunc()) }
}

/// `a^b` with the bounds of `e^(b ln a)`, which only positive numbers have.
fn power(a: Num, b: Num) -> Num {
    let documented = (b * a.ln()).exp();
    let value = a.value.powf(b.value);
    if a.value == 0.0 && b.value < 0.0 {
        return Num::unknown(); // Infinite, which not every format can be.
    }
    if b.value == 0.0 || a.value == 0.0 {
        return Num { value, kink: true, ..Num::input(value, 0.0, a.unit) };
    }
    let positive = Num { peak: a.peak.max(b.peak).max(value.abs()), ..documented };
    let whole = a.powf(b.value);
    if a.value > 0.0 { Num { value, ..positive } } else { Num { kink: true, ..whole } }
}

/// Integers changed by `left` and `right`, so that ordinary results stay in range.
fn tamed(mut case: Case, left: impl Fn(i64) -> i64, right: impl Fn(i64) -> i64) -> Case {
    for (name, tensor) in &mut case.inputs {
        if !tensor.dtype.is_float() {
            *tensor = if name == "lhs" { with_integers(tensor, &left) } else { with_integers(tensor, &right) };
        }
    }
    case
}

fn summands(case: Case) -> Case {
    tamed(case, |value| 64 + (value % 64).abs(), |value| (value % 64).abs())
}

fn factors(case: Case) -> Case {
    tamed(case, |value| value % 11, |value| value % 11)
}

fn divided(case: Case) -> Case {
    // A 0 stays where it is the only divisor.
    let alone = case.tensor("rhs").is_some_and(|rhs| rhs.elements() == Some(1));
    tamed(case, |value| value, |value| if value % 7 == 0 && !alone { 2 } else { value % 7 })
}
