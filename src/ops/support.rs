//! What the ops of several families share.

pub mod call;
pub mod gather_map;
pub mod ids;
pub mod reductions;
pub mod reference_inputs;
pub mod templates;
