//! What a program needs to be built with CUDA and to run without a GPU: NVIDIA's compiler, libraries to link, and the simulated device.

mod compiler;
mod cuda;
mod gpu;
mod once;
mod simulator;
mod stubs;
mod tools;

use std::process::{Command, Stdio};

pub use compiler::{fetch_nvrtc, install, nvrtc, there_is_one};
pub use cuda::{COMPUTE_CAP, CUDA_VERSION, Toolkit};
pub use gpu::is_there as has_gpu;
pub use once::once;
pub use simulator::{build_driver, install_driver, libraries};
pub use tools::remedy;

/// Whether `command` runs and ends with 0.
pub fn succeeds(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}
