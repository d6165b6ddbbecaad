//! A classifier and the loss of its training step. The scale in front of its head gets no gradient, on purpose: it goes through a number.

use candle_core::{Result, Tensor};
use candle_nn::{Linear, Module, VarBuilder, linear, loss::cross_entropy};

/// A hidden layer, a learned scale, and a head.
pub struct Classifier {
    hidden: Linear,
    scale: Tensor,
    head: Linear,
}

impl Classifier {
    /// A classifier of vectors of 3 numbers, with the weights of `vb`.
    pub fn new(width: usize, classes: usize, vb: VarBuilder) -> Result<Self> {
        let (hidden, head) = (linear(3, width, vb.pp("hidden"))?, linear(width, classes, vb.pp("head"))?);
        Ok(Self { hidden, scale: vb.get(1, "scale")?, head })
    }

    /// The loss of a batch: what a training step differentiates.
    pub fn loss(&self, x: &Tensor, labels: &Tensor) -> Result<Tensor> {
        let scale = self.scale.get(0)?.to_dtype(candle_core::DType::F64)?.to_scalar::<f64>()?;
        let hidden = (self.hidden.forward(x)?.tanh()? * scale)?;
        cross_entropy(&self.head.forward(&hidden)?, labels)
    }
}
