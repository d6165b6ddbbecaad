//! Code shared by ops of several names.

pub mod argminmax;
pub mod call;
pub mod convolution;
pub mod creation;
pub mod elementwise;
pub mod gather_map;
pub mod ids;
pub mod matrix_products;
pub mod operands;
pub mod pooling;
pub mod random_facts;
pub mod reductions;
pub mod reference_inputs;
pub mod resizing;
pub mod sorting;
pub mod sums;
pub mod templates;
pub mod vector_products;
