//! The driver API.

pub mod array;
pub mod context;
pub mod device;
pub mod error_names;
pub mod graph;
pub mod graph_edges;
pub mod graph_kernels;
pub mod graph_nodes;
pub mod host;
pub mod launch;
pub mod lookup;
pub mod managed;
pub mod memory;
pub mod module;
pub mod occupancy;
pub mod older;
pub mod pinned;
pub mod pool;
pub mod preferences;
pub mod stream;
