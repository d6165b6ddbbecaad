//! Many elements become one, or depend on all others of a row: sums, extremes, norms, losses and sorting.

pub mod argminmax;
pub mod elementwise_loss;
pub mod labels;
pub mod norm;
pub mod reductions;
pub mod softmax;
pub mod sorting;
pub mod sums;
