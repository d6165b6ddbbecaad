//! Functions of every element: the unary methods of `Tensor`.

use crate::case::Case;
use crate::generate::Draw;
use crate::number::Num;
use crate::ops::support::reference_inputs::each;
use crate::ops::{Contract, Op, why};
use crate::tensor::{DType, Support, Tensor, Value};

/// Functions that have a CPU kernel for floats only, and for all dtypes.
const FLOATS: &Support = &Support { of: "x", cpu: &DType::FLOATS_AND_F8, cuda: &DType::FLOATS };
const ALL: &Support = &Support { of: "x", cpu: &DType::ALL, cuda: &DType::FLOATS };

macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident = $method:ident, $torch:literal, $support:ident, $contract:expr, $value:expr;)*) => {$(
        $(#[$doc])*
        pub static $name: Op = Op {
    name: concat!("tensor.", stringify!($method)),
    covers: &[concat!("Tensor::", stringify!($method))],
    support: $support,
    generate: |draw| case(draw, $support),
    contract: $contract,
    call: |call| Ok(vec![call.tensor("x")?.$method()?]),
    source: concat!("x.", stringify!($method), "()?"),
    torch: $torch,
    reference: Some(|inputs| each(inputs, "x", $value)),
    ulps: 4.0,
    differentiable: &["x"],
    promise: ELEMENTWISE_PROMISE,
};
    )*};
}

functions! {
    /// `-x`.
    NEG = neg, "-x", FLOATS, |case| in_range(case, |x| -x), |x: Num| -x;
    /// `x^2`.
    SQR = sqr, "x.square()", FLOATS, |case| in_range(case, |x| x * x), Num::sqr;
    /// `1 / x`.
    RECIP = recip, "x.reciprocal()", FLOATS, of_floats, Num::recip;
    /// `e^x`.
    EXP = exp, "x.exp()", FLOATS, of_floats, Num::exp;
    /// The natural logarithm.
    LOG = log, "x.log()", FLOATS, of_floats, Num::ln;
    /// The sine.
    SIN = sin, "x.sin()", FLOATS, of_floats, Num::sin;
    /// The cosine.
    COS = cos, "x.cos()", FLOATS, of_floats, Num::cos;
    /// The hyperbolic tangent.
    TANH = tanh, "x.tanh()", FLOATS, of_floats, Num::tanh;
    /// The square root.
    SQRT = sqrt, "x.sqrt()", FLOATS, of_floats, Num::sqrt;
    /// `|x|`.
    ABS = abs, "x.abs()", ALL, |case| in_range(case, i128::abs), Num::abs;
    /// The error function.
    ERF = erf, "x.erf()", ALL, elementwise, |x| if x.unit == 0.0 { Num { error: 0.25, ..x.erf() } } else { x.erf() };
    /// `x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))`.
    GELU = gelu, "F.gelu(x, approximate=\"tanh\")", FLOATS, of_floats, Num::gelu;
    /// `x / 2 (1 + erf(x / sqrt(2)))`.
    GELU_ERF = gelu_erf, "F.gelu(x)", FLOATS, of_floats, Num::gelu_erf;
    /// `x / (1 + e^-x)`.
    SILU = silu, "F.silu(x)", FLOATS, of_floats, Num::silu;
    /// `max(x, 0)`.
    RELU = relu, "x.relu()", ALL, elementwise, |x| x.max(Num::exact(0.0));
    /// -1, 0 or 1.
    SIGN = sign, "x.sign()", ALL, elementwise, Num::sign;
    /// The smallest integer that is not below.
    CEIL = ceil, "x.ceil()", ALL, elementwise, |x| x.step(f64::ceil);
    /// The largest integer that is not above.
    FLOOR = floor, "x.floor()", ALL, elementwise, |x| x.step(f64::floor);
    /// The nearest integer; halves go away from zero.
    ROUND = round, "# Halves go to even here, away from zero in candle.\nx.round()", ALL, elementwise, |x| x.step(f64::round);
}

/// Where the contract of these ops comes from.
pub const ELEMENTWISE_PROMISE: &str = "candle-core/src/op.rs:490-1020, backprop.rs:537-690 (the CUDA kernels: candle-kernels/src/unary.cu); the \
              torch functions of these names: NaN passes through relu, and the derivative of a \
              step is 0, halves round away from 0 (candle-core/tests/tensor_tests.rs:294); an integer function of integers is exact, and another one off by less than 1; gelu and silu \
              of infinity are infinite";

/// A tensor of a dtype of `support`, of any shape and view.
pub fn case(draw: &mut Draw, support: &Support) -> arbitrary::Result<Case> {
    let dtype = draw.dtype(support)?;
    let shape = draw.any_shape()?;
    let mut case = Case::default().input(support.of, draw.tensor(dtype, &shape)?);
    case.backward = draw.backward()?;
    Ok(case)
}

/// Accepted: what comes out has the dtype and shape of `x`.
pub fn elementwise(case: &Case) -> Contract {
    let Some(x) = case.tensor("x") else { return Contract::Rejects(why::SHAPES) };
    Contract::accepts(x.dtype, &x.shape)
}

/// The same, for a function whose values are no integers.
pub fn of_floats(case: &Case) -> Contract {
    match case.tensor("x") {
        Some(x) if !x.dtype.is_float() => Contract::Unspecified("a float function of integers"),
        _ => elementwise(case),
    }
}

/// The same, where an integer function stays in the dtype.
pub fn in_range(case: &Case, f: impl Fn(i128) -> i128) -> Contract {
    match case.tensor("x") {
        Some(x) if !stays(x, f) => Contract::Unspecified("integer overflow"),
        _ => elementwise(case),
    }
}

/// Whether the integers of `x` stay in its dtype under `f`; floats do.
pub fn stays(x: &Tensor, f: impl Fn(i128) -> i128) -> bool {
    let Some((low, high)) = x.dtype.int_range() else { return true };
    let within = |value: i128| (i128::from(low)..=i128::from(high)).contains(&value);
    // What is not listed is 0 or 1.
    x.values.listed().into_iter().chain([Value::Int(1)]).all(|value| within(f(i128::from(value.as_i64()))))
}
