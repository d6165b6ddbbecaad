//! What the ops of several families share.

pub mod attention;
pub mod call;
pub mod gather_map;
pub mod ids;
pub mod join;
pub mod kv_cache;
pub mod nonempty_floats;
pub mod optimizer;
pub mod reductions;
pub mod reference_inputs;
pub mod scatter;
pub mod slice_writes;
pub mod slicing;
pub mod templates;
