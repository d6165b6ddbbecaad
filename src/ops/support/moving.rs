//! Ops that move elements: by position, by ids, and from one tensor into another.

pub mod gather_map;
pub mod ids;
pub mod join;
pub mod pixels;
pub mod scatter;
pub mod slice_writes;
pub mod slicing;
