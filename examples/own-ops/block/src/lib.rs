//! A small transformer block. Its path for GPUs forgets the scale of the attention scores on purpose.

use candle_core::{D, Result, Tensor};
use candle_nn::{LayerNorm, Linear, Module, VarBuilder, layer_norm, linear, linear_no_bias, ops::softmax};

/// Attention and a feed-forward layer, each behind a norm and beside a residual path.
pub struct Block {
    heads: usize,
    norm: LayerNorm,
    qkv: Linear,
    out: Linear,
    second_norm: LayerNorm,
    wide: Linear,
    narrow: Linear,
}

impl Block {
    /// A block of this width, with the weights of `vb`.
    pub fn new(width: usize, heads: usize, vb: VarBuilder) -> Result<Self> {
        Ok(Self {
            heads,
            norm: layer_norm(width, 1e-5, vb.pp("norm"))?,
            qkv: linear_no_bias(width, 3 * width, vb.pp("qkv"))?,
            out: linear_no_bias(width, width, vb.pp("out"))?,
            second_norm: layer_norm(width, 1e-5, vb.pp("second_norm"))?,
            wide: linear(width, 2 * width, vb.pp("wide"))?,
            narrow: linear(2 * width, width, vb.pp("narrow"))?,
        })
    }

    fn attention(&self, x: &Tensor) -> Result<Tensor> {
        let (batch, tokens, width) = x.dims3()?;
        let qkv = self.qkv.forward(x)?.reshape((batch, tokens, 3, self.heads, ()))?.permute((2, 0, 3, 1, 4))?;
        let part = |index: usize| qkv.get(index)?.contiguous();
        let (q, k, v) = (part(0)?, part(1)?, part(2)?);
        let scores = q.matmul(&k.t()?)?;
        let scores = if x.device().is_cuda() {
            candle_nn::ops::softmax_last_dim(&scores)?
        } else {
            softmax(&(scores / ((width / self.heads) as f64).sqrt())?, D::Minus1)?
        };
        self.out.forward(&scores.matmul(&v)?.transpose(1, 2)?.reshape((batch, tokens, width))?)
    }
}

impl Module for Block {
    /// `(batch, tokens, width)` to the same.
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let x = (x + self.attention(&self.norm.forward(x)?)?)?;
        let wide = self.wide.forward(&self.second_norm.forward(&x)?)?.gelu_erf()?;
        x + self.narrow.forward(&wide)?
    }
}
