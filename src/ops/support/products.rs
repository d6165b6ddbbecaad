//! Products of vectors and matrices, also quantized or by a caller, and attention.

pub mod attention;
pub mod custom_ops;
pub mod ggml;
pub mod matrix_products;
pub mod routing;
pub mod vector_products;
