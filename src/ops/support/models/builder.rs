//! The tensors of a layer as candle's builders take them.

use std::collections::HashMap;

use candle_core::Tensor;
use candle_nn::VarBuilder;

/// A builder that holds `weight` and `bias` under these names.
pub fn builder<'a>(weight: &Tensor, bias: Option<&Tensor>) -> VarBuilder<'a> {
    let mut tensors = HashMap::from([("weight".to_string(), weight.clone())]);
    tensors.extend(bias.map(|bias| ("bias".to_string(), bias.clone())));
    VarBuilder::from_tensors(tensors, weight.dtype(), weight.device())
}
