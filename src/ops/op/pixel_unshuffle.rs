//! `pixel_unshuffle`: pixels to channels.

use candle_nn::ops;

use crate::case::{Case, InputSpec, ParamSpec};
use crate::ops::support::moving::gather_map::{COPIES, contract, draw_x_of, gathered};
use crate::ops::support::moving::pixels::factor;
use crate::ops::{Contract, Op, rule};

/// `pixel_unshuffle(x (N, C, H f, W f), f)`: `(N, C f^2, H, W)`.
pub static PIXEL_UNSHUFFLE: Op = Op {
    name: "op.pixel_unshuffle",
    covers: &["ops::pixel_unshuffle"],
    support: COPIES,
    inputs: &[InputSpec::new("x", "(N, C, H f, W f)")],
    params: &[ParamSpec::size("factor", 0, "How many pixels become one, in each dimension.")],
    generate: &|draw| {
        let factor = draw.between(1, 3)?;
        let shape = [draw.size()?, draw.positive()?, factor * draw.positive()?, factor * draw.positive()?];
        Ok(draw_x_of(draw, &shape)?.param("factor", factor))
    },
    contract: &|case| contract(case, unshuffled),
    call: &|call| Ok(vec![ops::pixel_unshuffle(call.tensor("x")?, call.size("factor"))?]),
    source: "candle_nn::ops::pixel_unshuffle(&x, {{ factor }})?",
    torch: "F.pixel_unshuffle(x, {{ factor }})",
    reference: Some(&|inputs| {
        gathered(inputs, unshuffled, |case, _, index| {
            let f = case.size("factor");
            let (channel, row, column) = (index[1] / f / f, index[1] / f % f, index[1] % f);
            Some(vec![index[0], channel, index[2] * f + row, index[3] * f + column])
        })
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-nn/src/ops.rs:956-969; torch.nn.PixelUnshuffle, its inverse, which rejects sizes that the factor does not divide, of an empty tensor, too",
};

fn unshuffled(case: &Case, x: &[usize]) -> Result<Vec<usize>, Contract> {
    let &[batch, channels, height, width] = x else { return Err(Contract::Rejects(&rule::RANK)) };
    let factor = factor(case)?;
    if height % factor != 0 || width % factor != 0 {
        return Err(Contract::Rejects(&rule::UNSHUFFLED_SIZES));
    }
    Ok(vec![batch, channels * factor * factor, height / factor, width / factor])
}
