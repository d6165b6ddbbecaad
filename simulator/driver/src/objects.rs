//! What the driver keeps, and its support code. Nothing here knows the C functions in `api`, which are built on it.

pub(crate) mod blas;
pub(crate) mod codes;
pub(crate) mod context;
pub(crate) mod counters;
pub(crate) mod coverage;
pub(crate) mod device_time;
pub(crate) mod environment;
pub mod error_names;
pub(crate) mod function;
pub(crate) mod gemm;
pub(crate) mod generator;
pub(crate) mod happens_before;
pub(crate) mod hide;
pub(crate) mod image;
pub(crate) mod inject;
pub(crate) mod linked_kernels;
pub(crate) mod module;
pub(crate) mod philox;
pub mod process;
pub(crate) mod report;
pub(crate) mod slab;
pub(crate) mod state;
pub(crate) mod stream;
pub(crate) mod trace;
pub(crate) mod visible;
pub(crate) mod wedge;
