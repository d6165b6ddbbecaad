//! Table: functions of every element, the unary methods of `Tensor`.

use crate::number::Num;
use crate::ops::Op;
use crate::ops::support::arguments::ANY;
use crate::ops::support::elements::elementwise::{FLOATS, case, elementwise, of_floats, without_overflow};
use crate::ops::support::reference_inputs::each;
use crate::tensor::{DType, Support};

/// The dtypes of functions that the CPU backend has for integers too.
const ALL: &Support = &Support { of: "x", cpu: &DType::ALL, cuda: &DType::FLOATS };

macro_rules! functions {
    ($(
        $(#[$doc:meta])*
        $name:ident = $method:ident, $torch:literal, $support:ident, $contract:expr, $value:expr;
    )*) => {$(
        $(#[$doc])*
        pub static $name: Op = Op {
            name: concat!("tensor.", stringify!($method)),
            covers: &[concat!("Tensor::", stringify!($method))],
            support: $support,
            inputs: &[ANY],
            params: &[],
            generate: &|draw| case(draw, $support),
            contract: &$contract,
            call: &|call| Ok(vec![call.tensor("x")?.$method()?]),
            source: concat!("x.", stringify!($method), "()?"),
            torch: $torch,
            reference: Some(&|inputs| each(inputs, "x", $value)),
            ulps: 4.0,
            differentiable: &["x"],
            promise: ELEMENTWISE_PROMISE,
        };
    )*};
}

functions! {
    /// `-x`.
    NEG = neg, "-x", FLOATS, |case| without_overflow(case, |x| -x), |x: Num| -x;
    /// `x^2`.
    SQR = sqr, "x.square()", FLOATS, |case| without_overflow(case, |x| x * x), Num::sqr;
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
    ABS = abs, "x.abs()", ALL, |case| without_overflow(case, i128::abs), Num::abs;
    /// The error function.
    ERF = erf, "x.erf()", FLOATS, of_floats, Num::erf;
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
    /// The smallest integer not below `x`.
    CEIL = ceil, "x.ceil()", ALL, elementwise, |x| x.step(f64::ceil);
    /// The largest integer not above `x`.
    FLOOR = floor, "x.floor()", ALL, elementwise, |x| x.step(f64::floor);
    /// The nearest integer; halves are rounded away from zero.
    ROUND = round, "# Halves go to even here, away from zero in candle.\nx.round()", ALL, elementwise,
        |x| x.step(f64::round);
}

/// Where the contract of these ops comes from.
pub const ELEMENTWISE_PROMISE: &str = "candle-core/src/op.rs:490-1020, backprop.rs:537-690 (the CUDA kernels: \
    candle-kernels/src/unary.cu); the torch functions of these names: NaN passes through relu; the derivative of \
    a step is 0; halves round away from 0 (candle-core/tests/tensor_tests.rs:294); functions that map integers to \
    integers are exact, others are off by less than 1; gelu and silu of infinity are infinite";
