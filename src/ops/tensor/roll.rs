//! `Tensor::roll`.

use crate::case::{Case, ParamSpec};
use crate::ops::support::arguments::{ANY, DIM};
use crate::ops::support::moving::gather_map::{COPIES, contract, draw_x, gathered, shape_of};
use crate::ops::{Contract, Op, rule};

/// `x.roll(shift, dim)`: moves each element by `shift` positions, around the end.
pub static ROLL: Op = Op {
    name: "tensor.roll",
    covers: &["Tensor::roll"],
    support: COPIES,
    inputs: &[ANY],
    params: &[DIM, ParamSpec::int("shift", 0, "The number of positions to shift by.")],
    generate: &|draw| {
        let case = draw_x(draw, 1, 4)?;
        let dim = draw.between(0, shape_of(&case).len() - 1)?;
        let shift = draw.between(0, 20)? as i64 - 10;
        Ok(case.param("dim", dim).param("shift", shift))
    },
    contract: &|case| contract(case, rolled),
    call: &|call| Ok(vec![call.tensor("x")?.roll(shift(call.case), call.size("dim"))?]),
    source: "x.roll({{ shift|i32 }}, {{ dim }})?",
    torch: "x.roll({{ shift }}, {{ dim }})",
    reference: Some(&|inputs| {
        gathered(inputs, rolled, |case, x, index| {
            let dim = case.size("dim");
            let mut index = index.to_vec();
            let from = index[dim] as i64 - i64::from(shift(case));
            index[dim] = usize::try_from(from.rem_euclid(x[dim] as i64)).ok()?;
            Some(index)
        })
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-core/src/tensor.rs:977-1011; torch.roll",
};

/// The shift, which candle takes as `i32`.
fn shift(case: &Case) -> i32 {
    let bound = |bound: i32| i64::from(bound);
    case.int("shift").clamp(bound(i32::MIN), bound(i32::MAX)) as i32
}

fn rolled(case: &Case, x: &[usize]) -> Result<Vec<usize>, Contract> {
    if case.size("dim") < x.len() { Ok(x.to_vec()) } else { Err(Contract::Rejects(&rule::DIM)) }
}
