//! `pixel_unshuffle`: pixels to channels.

use candle_nn::ops;

use crate::case::{Case, InputSpec, ParamSpec};
use crate::ops::support::moving::gather_map::{COPIES, contract, draw_x_of, gathered};
use crate::ops::support::moving::pixels::{factor, indivisible};
use crate::ops::{Contract, Op, why};

/// `pixel_unshuffle(x (N, C, H f, W f), f)`: `(N, C f^2, H, W)`.
pub static PIXEL_UNSHUFFLE: Op = Op {
    name: "op.pixel_unshuffle",
    covers: &["ops::pixel_unshuffle"],
    support: COPIES,
    inputs: &[InputSpec::new("x", "(N, C, H f, W f)")],
    params: &[ParamSpec::size("factor", 0, "How many pixels become one, in each dimension.")],
    generate: |draw| {
        let factor = draw.between(1, 3)?;
        let shape = [draw.size()?, draw.positive()?, factor * draw.positive()?, factor * draw.positive()?];
        Ok(draw_x_of(draw, &shape)?.param("factor", factor))
    },
    contract: |case| contract(case, unshuffled),
    call: |call| Ok(vec![ops::pixel_unshuffle(call.tensor("x")?, call.size("factor"))?]),
    source: "candle_nn::ops::pixel_unshuffle(&x, {{ factor }})?",
    torch: "F.pixel_unshuffle(x, {{ factor }})",
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
        return Err(indivisible(x, "height and width are no multiples of the factor"));
    }
    Ok(vec![batch, channels * factor * factor, height / factor, width / factor])
}
