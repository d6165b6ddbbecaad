//! A focal loss (arXiv 1708.02002). Its gradient is wrong on purpose: the factor is detached, so it counts as a constant.

use candle_core::{D, Result, Tensor};
use candle_nn::ops::log_softmax;

/// The mean of `-(1 - p)^gamma log p` over the rows of `logits`, where `p` is the probability of the row's label in `target`.
pub fn focal_loss(logits: &Tensor, target: &Tensor, gamma: f64) -> Result<Tensor> {
    let log_p = log_softmax(logits, D::Minus1)?.gather(&target.unsqueeze(1)?, 1)?.squeeze(1)?;
    let factor = log_p.exp()?.affine(-1.0, 1.0)?.powf(gamma)?.detach();
    (factor * log_p)?.neg()?.mean_all()
}
