//! A simulated CUDA device: loads the PTX that nvcc makes and executes it on the CPU, 32 lanes at a time, with every access
//! checked. Knows only PTX; `driver/` exports it as CUDA's libraries.
//!
//! PTX is not what a GPU executes: approximations differ within their documented bounds, and `ptxas` fuses products and sums, which
//! `kernel/decode/fusing.rs` does likewise. What else the ISA leaves open is decided in `float.rs` and `isa/`.

#![allow(clippy::result_large_err, reason = "a fault is the end of a launch, and rare")]

mod address_space;
mod byte_set;
mod bytes;
mod config;
mod coverage;
mod device;
mod dump;
mod effort;
mod exact;
mod fault;
mod float;
mod grid;
pub mod isa;
pub mod jitter;
mod kernel;
mod lanes;
mod launch;
mod lifetime;
mod memory;
mod mutate;
mod printf;
mod ptx;
mod race;
mod row;
mod schedule;
mod shadowed_buffer;
mod undefined;
mod warp;

pub use byte_set::ByteSet;
pub use config::{Checks, Config};
pub use coverage::{Branch, KernelCoverage};
pub use device::{Device, Entry, FunctionId, LoadError, ModuleId};
pub use device_record::{Detail, Fault, How, Kind, Missing, Near, Note};
pub use effort::{Effort, Serial};
pub use grid::Launch;
pub use mutate::{Change, Choice, Effect, Mutation};
pub use ptx::kernels;
pub use undefined::Undefined;
