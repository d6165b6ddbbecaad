//! `pixel_shuffle`: channels to pixels.

use candle_nn::ops;

use crate::case::{Case, InputSpec, ParamSpec};
use crate::ops::support::moving::gather_map::{COPIES, contract, draw_x_of, gathered};
use crate::ops::support::moving::pixels::factor;
use crate::ops::{Contract, Op, rule};

/// `pixel_shuffle(x (N, C f^2, H, W), f)`: `(N, C, H f, W f)`.
pub static PIXEL_SHUFFLE: Op = Op {
    name: "op.pixel_shuffle",
    covers: &["ops::pixel_shuffle"],
    support: COPIES,
    inputs: &[InputSpec::new("x", "(N, C f^2, H, W)")],
    params: &[ParamSpec::size("factor", 0, "How many pixels become one, in each dimension.")],
    generate: &|draw| {
        let (channels, factor) = (draw.between(1, 3)?, draw.between(1, 3)?);
        let shape = [draw.size()?, channels * factor * factor, draw.positive()?, draw.positive()?];
        Ok(draw_x_of(draw, &shape)?.param("factor", factor))
    },
    contract: &|case| contract(case, shuffled),
    call: &|call| Ok(vec![ops::pixel_shuffle(call.tensor("x")?, call.size("factor"))?]),
    source: "candle_nn::ops::pixel_shuffle(&x, {{ factor }})?",
    torch: "F.pixel_shuffle(x, {{ factor }})",
    reference: Some(&|inputs| {
        gathered(inputs, shuffled, |case, _, index| {
            let f = case.size("factor");
            let channel = (index[1] * f + index[2] % f) * f + index[3] % f;
            Some(vec![index[0], channel, index[2] / f, index[3] / f])
        })
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-nn/src/ops.rs:946-954, which cites torch.nn.PixelShuffle; that rejects channels that are not a multiple, of an empty tensor, too",
};

fn shuffled(case: &Case, x: &[usize]) -> Result<Vec<usize>, Contract> {
    let &[batch, channels, height, width] = x else { return Err(Contract::Rejects(&rule::RANK)) };
    let factor = factor(case)?;
    if channels % (factor * factor) != 0 {
        return Err(Contract::Rejects(&rule::SHUFFLED_CHANNELS));
    }
    Ok(vec![batch, channels / factor / factor, height * factor, width * factor])
}
