//! Rounding to decimals.

use crate::case::ParamSpec;
use crate::number::Num;
use crate::ops::support::arguments::ANY;
use crate::ops::support::elements::elementwise::{FLOATS, case, of_floats};
use crate::ops::support::reference_inputs::each;
use crate::ops::{Contract, Op};

/// `x.round_to(decimals)`: the nearest multiple of `10^-decimals`.
pub static ROUND_TO: Op = Op {
    name: "tensor.round_to",
    covers: &["Tensor::round_to"],
    support: FLOATS,
    inputs: &[ANY],
    params: &[ParamSpec::i32("decimals", 0, "The number of decimal places.")],
    generate: &|draw| {
        let decimals = *draw.choose(&[0_i64, 1, 2, 3, -1, -2])?;
        Ok(case(draw, FLOATS)?.param("decimals", decimals))
    },
    contract: &|case| {
        // Where the power is infinite, PyTorch returns NaN, too.
        let has_power = |decimals| 10f64.powi(decimals).is_normal();
        if i32::try_from(case.int("decimals")).is_ok_and(has_power) {
            of_floats(case)
        } else {
            Contract::Unspecified("decimals whose power of ten is not a normal f64")
        }
    },
    call: &|call| Ok(vec![call.tensor("x")?.round_to(i32::try_from(call.case.int("decimals")).unwrap_or(0))?]),
    source: "x.round_to({{ decimals }})?",
    torch: r"
        # Halves go to even here, away from zero in candle.
        x.round(decimals={{ decimals }})
    ",
    reference: Some(&|inputs| each(inputs, "x", |x| rounded_to(x, inputs.case.int("decimals")))),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-core/src/tensor.rs:653-660 (its documentation); torch.round",
};

/// `x` rounded to decimals.
fn rounded_to(x: Num, decimals: i64) -> Num {
    let scale = 10f64.powi(i32::try_from(decimals).unwrap_or(0));
    (x * Num::constant(scale, x.unit)).step(f64::round) * Num::constant(1.0 / scale, x.unit)
}
