//! Table: activations of `candle_nn::ops` that take `x` alone.

use candle_nn::ops;

use crate::number::Num;
use crate::ops::Op;
use crate::ops::support::arguments::ANY;
use crate::ops::support::dtypes::{FLOATS, FLOATS_AND_F8};
use crate::ops::support::elements::activation::hard_sigmoid;
use crate::ops::support::elements::elementwise::{case, of_floats};
use crate::ops::support::reference_inputs::each;

macro_rules! activations {
    ($($(#[$doc:meta])* $name:ident = $function:ident, $torch:literal, $support:ident, $contract:expr, $value:expr;)*) => {$(
        $(#[$doc])*
        pub static $name: Op = Op {
            name: concat!("op.", stringify!($function)),
            covers: &[concat!("ops::", stringify!($function))],
            support: $support,
            inputs: &[ANY],
            params: &[],
            generate: &|draw| case(draw, $support),
            contract: &$contract,
            call: &|call| Ok(vec![ops::$function(call.tensor("x")?)?]),
            source: concat!("candle_nn::ops::", stringify!($function), "(&x)?"),
            torch: $torch,
            reference: Some(&|inputs| each(inputs, "x", $value)),
            ulps: 4.0,
            differentiable: &["x"],
            promise: "candle-nn/src/ops.rs:41-255; the torch.nn.functional functions of these names",
        };
    )*};
}

activations! {
    /// `1 / (1 + e^-x)`.
    SIGMOID = sigmoid, "torch.sigmoid(x)", FLOATS, of_floats, Num::sigmoid;
    /// `x sigmoid(x)`.
    SILU = silu, "F.silu(x)", FLOATS_AND_F8, of_floats, Num::silu;
    /// `(x + 3) / 6`, from 0 to 1.
    HARD_SIGMOID = hard_sigmoid, "F.hardsigmoid(x)", FLOATS_AND_F8, of_floats, hard_sigmoid;
    /// `x tanh(ln(1 + e^x))`.
    MISH = mish, "F.mish(x)", FLOATS_AND_F8, of_floats, Num::mish;
}
