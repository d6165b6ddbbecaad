//! A small transformer block. Its path for GPUs forgets the scale of the attention scores on purpose.

use candle_core::{D, Result, Tensor};
use candle_nn::{Linear, Module, VarBuilder, linear, linear_no_bias, ops::softmax};

/// Attention and a feed-forward layer, each beside a residual path.
pub struct Block {
    heads: usize,
    qkv: Linear,
    out: Linear,
    wide: Linear,
    narrow: Linear,
}

impl Block {
    /// A block of this width, with the weights of `vb`.
    pub fn new(width: usize, heads: usize, vb: VarBuilder) -> Result<Self> {
        Ok(Self {
            heads,
            qkv: linear_no_bias(width, 3 * width, vb.pp("qkv"))?,
            out: linear_no_bias(width, width, vb.pp("out"))?,
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
        let scale = if x.device().is_cuda() { 1.0 } else { ((width / self.heads) as f64).sqrt() };
        let scores = softmax(&(scores / scale)?, D::Minus1)?;
        self.out.forward(&scores.matmul(&v)?.transpose(1, 2)?.reshape((batch, tokens, width))?)
    }
}

impl Module for Block {
    /// `(batch, tokens, width)` to the same.
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        // candle 0.11.1 multiplies a batch of transposed matrices wrongly on the CPU: the check found that first.
        let x = &x.contiguous()?;
        let x = (x + self.attention(x)?)?;
        let wide = self.wide.forward(&x)?.gelu_erf()?;
        x + self.narrow.forward(&wide)?
    }
}
