//! `pixel_shuffle` and `pixel_unshuffle`: channels to pixels and back.

use candle_nn::ops;

use crate::case::Case;
use crate::ops::support::gather_map::{COPIES, TOO_LARGE, contract, drawn_of, gathered};
use crate::ops::{Contract, Op, why};

/// `pixel_shuffle(x (N, C f^2, H, W), f)`: `(N, C, H f, W f)`.
pub static PIXEL_SHUFFLE: Op = Op {
    name: "op.pixel_shuffle",
    covers: &["ops::pixel_shuffle"],
    support: COPIES,
    generate: |draw| {
        let (channels, factor) = (draw.between(1, 3)?, draw.between(1, 3)?);
        let shape = [draw.size()?, channels * factor * factor, draw.positive()?, draw.positive()?];
        Ok(drawn_of(draw, &shape)?.param("factor", factor))
    },
    contract: |case| contract(case, shuffled),
    call: |call| Ok(vec![ops::pixel_shuffle(call.tensor("x")?, call.size("factor", 0))?]),
    source: "candle_nn::ops::pixel_shuffle(&x, {{ factor|default(0) }})?",
    torch: "F.pixel_shuffle(x, {{ factor|default(0) }})",
    reference: Some(|inputs| {
        gathered(inputs, shuffled, |case, _, index| {
            let f = case.size("factor");
            let channel = (index[1] * f + index[2] % f) * f + index[3] % f;
            Some(vec![index[0], channel, index[2] / f, index[3] / f])
        })
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-nn/src/ops.rs:946-954, which cites torch.nn.PixelShuffle",
};

fn shuffled(case: &Case, x: &[usize]) -> Result<Vec<usize>, Contract> {
    let &[batch, channels, height, width] = x else { return Err(Contract::Rejects(why::RANK)) };
    let factor = factor(case)?;
    if channels % (factor * factor) != 0 {
        return Err(misfit(x, "channels are no multiple of the squared factor"));
    }
    Ok(vec![batch, channels / factor / factor, height * factor, width * factor])
}

/// `pixel_unshuffle(x (N, C, H f, W f), f)`: `(N, C f^2, H, W)`.
pub static PIXEL_UNSHUFFLE: Op = Op {
    name: "op.pixel_unshuffle",
    covers: &["ops::pixel_unshuffle"],
    support: COPIES,
    generate: |draw| {
        let factor = draw.between(1, 3)?;
        let shape = [draw.size()?, draw.positive()?, factor * draw.positive()?, factor * draw.positive()?];
        Ok(drawn_of(draw, &shape)?.param("factor", factor))
    },
    contract: |case| contract(case, unshuffled),
    call: |call| Ok(vec![ops::pixel_unshuffle(call.tensor("x")?, call.size("factor", 0))?]),
    source: "candle_nn::ops::pixel_unshuffle(&x, {{ factor|default(0) }})?",
    torch: "F.pixel_unshuffle(x, {{ factor|default(0) }})",
    reference: Some(|inputs| {
        gathered(inputs, unshuffled, |case, _, index| {
            let f = case.size("factor");
            let (channel, row, column) = (index[1] / f / f, index[1] / f % f, index[1] % f);
            Some(vec![index[0], channel, index[2] * f + row, index[3] * f + column])
        })
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-nn/src/ops.rs:956-969; torch.nn.PixelUnshuffle, its inverse",
};

fn unshuffled(case: &Case, x: &[usize]) -> Result<Vec<usize>, Contract> {
    let &[batch, channels, height, width] = x else { return Err(Contract::Rejects(why::RANK)) };
    let factor = factor(case)?;
    if height % factor != 0 || width % factor != 0 {
        return Err(misfit(x, "height and width are no multiples of the factor"));
    }
    Ok(vec![batch, channels * factor * factor, height / factor, width / factor])
}

/// Sizes that the factor does not divide are refused, unless there is nothing to move.
fn misfit(x: &[usize], rule: &'static str) -> Contract {
    if x.contains(&0) { Contract::Unspecified("pixels of nothing") } else { Contract::Rejects(rule) }
}

fn factor(case: &Case) -> Result<usize, Contract> {
    match case.size("factor") {
        0 => Err(Contract::Rejects("a factor of 0")),
        factor if factor > 1 << 10 => Err(TOO_LARGE),
        factor => Ok(factor),
    }
}
