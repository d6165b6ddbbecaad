//! Windows of images: convolutions, pooling and other sizes.

pub mod conv_layer;
pub mod convolution;
pub mod pooling;
pub mod resizing;
