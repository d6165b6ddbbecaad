//! A loss weighted by a learned deviation (arXiv 1705.07115). It learns the deviation itself, which a step can make negative, instead of
//! its logarithm, on purpose.

use candle_core::{Result, Tensor};

/// The mean of the squared errors over twice the square of `sigma`, plus the logarithm of `sigma`, a tensor of one element.
pub fn uncertain_loss(errors: &Tensor, sigma: &Tensor) -> Result<Tensor> {
    let sigma = sigma.get(0)?;
    errors.sqr()?.mean_all()?.div(&(sigma.sqr()? * 2.0)?)? + sigma.log()?
}
