//! What several ops share.

pub mod activation;
pub mod builder;
pub mod call;
pub mod conv_layer;
pub mod dtypes;
pub mod elementwise_loss;
pub mod gather_map;
pub mod ids;
pub mod labels;
pub mod norm;
pub mod pixels;
pub mod recurrent;
pub mod reductions;
pub mod reference_inputs;
pub mod relation;
pub mod second_device;
pub mod softmax;
pub mod templates;
