//! Attention pooling: one vector of a sequence. Its weights add up over the batch instead of the tokens, on purpose.

use candle_core::{Result, Tensor};
use candle_nn::ops::softmax;

/// The mean of the tokens of each sequence in `x` (batch, tokens, width), weighted by their similarity to `query` (width).
pub fn pool(x: &Tensor, query: &Tensor) -> Result<Tensor> {
    let scores = x.broadcast_mul(query)?.sum(2)?;
    let weights = softmax(&scores, 0)?;
    x.broadcast_mul(&weights.unsqueeze(2)?)?.sum(1)
}
