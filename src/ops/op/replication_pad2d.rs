//! `candle_nn::ops::replication_pad2d`.

use candle_nn::ops;

use crate::case::{Case, ParamSpec};
use crate::ops::support::arguments::IMAGES;
use crate::ops::support::moving::gather_map::{COPIES, TOO_LARGE, contract, draw_x_of, gathered};
use crate::ops::{Contract, Op, rule};

/// `candle_nn::ops::replication_pad2d(x (N, C, H, W), pad)`: repeats the border of each image on all sides.
pub static REPLICATION_PAD2D: Op = Op {
    name: "op.replication_pad2d",
    covers: &["ops::replication_pad2d"],
    support: COPIES,
    inputs: &[IMAGES],
    params: &[ParamSpec::size("pad", 0, "Rows and columns to add on each side.")],
    generate: &|draw| {
        let shape = [draw.positive()?, draw.positive()?, draw.positive()?, draw.positive()?];
        Ok(draw_x_of(draw, &shape)?.param("pad", *draw.choose(&[1_usize, 1, 0])?))
    },
    contract: &|case| {
        let pads_much = case.size("pad") > 1;
        contract(case, around).may_refuse(pads_much, "candle documents padding by 0 or 1 only")
    },
    call: &|call| Ok(vec![ops::replication_pad2d(call.tensor("x")?, call.size("pad"))?]),
    source: "candle_nn::ops::replication_pad2d(&x, {{ pad }})?",
    torch: r#"
        F.pad(x, ({{ pad }}, {{ pad }}, {{ pad }}, {{ pad }}), mode="replicate")
    "#,
    reference: Some(&|inputs| {
        gathered(inputs, around, |case, x, index| {
            let pad = case.size("pad");
            let inside = |dim: usize| index[dim].saturating_sub(pad).min(x[dim] - 1);
            Some(vec![index[0], index[1], inside(2), inside(3)])
        })
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-nn/src/ops.rs:971-984, which cites torch.nn.ReplicationPad2d; PyTorch does not repeat the border \
              of an empty image",
};

fn around(case: &Case, x: &[usize]) -> Result<Vec<usize>, Contract> {
    let pad = case.size("pad");
    if x.len() != 4 {
        return Err(Contract::Rejects(&rule::RANK));
    }
    if pad > 1 << 8 {
        return Err(TOO_LARGE);
    }
    if pad > 0 && x[2..].contains(&0) {
        return Err(Contract::Rejects(&rule::EMPTY_BORDER));
    }
    Ok(vec![x[0], x[1], x[2] + 2 * pad, x[3] + 2 * pad])
}
