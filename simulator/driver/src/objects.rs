//! What the driver keeps, and its support code. Nothing here knows the C functions in `api`, which are built on it.
//!
//! [`driver`] has the state, [`process`] its lock. A room has the driver's functions of one idea, and below it what they work on, which
//! knows nothing of the driver.

pub(crate) mod codes;
pub(crate) mod contexts;
pub(crate) mod driver;
pub mod error_names;
pub(crate) mod graphs;
pub(crate) mod handles;
pub(crate) mod kernels;
pub(crate) mod libraries;
pub mod memory;
pub(crate) mod modules;
pub mod process;
pub(crate) mod reports;
pub(crate) mod settings;
pub(crate) mod streams;

/// For the fuzz target.
pub use modules::image;
