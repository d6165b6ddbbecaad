//! The CUDA toolkit with which candle's CUDA backend is built. Suite and set-up need the same one, so both compile this file.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use super::gpu;

/// The compute capability to compile for: candle's f8 kernels need at least 89.
pub const COMPUTE_CAP: &str = "90";
/// The version of CUDA that cudarc binds.
pub const CUDA_VERSION: &str = "13000";

/// Where `nvcc` and the libraries to link come from.
pub enum Toolkit {
    /// The installed one, on a machine with a GPU: the folder that has `bin/nvcc`.
    Installed(PathBuf),
    /// The one from `PyPI`: PTX for the simulated device, and stub libraries to link.
    Assembled(PathBuf),
}

impl Toolkit {
    /// The installed toolkit, if the machine also has a GPU.
    pub fn installed() -> Option<Self> {
        let gpu = gpu::is_there();
        let on_path = env::split_paths(&env::var_os("PATH")?).map(|bin| bin.join("..")).collect::<Vec<_>>();
        let named = env::var_os("CUDA_HOME").map(PathBuf::from);
        let places = on_path.into_iter().chain(named).chain(["/usr/local/cuda".into()]);
        places
            .filter(|home| gpu && home.join("bin/nvcc").is_file())
            .find_map(|home| home.canonicalize().ok())
            .map(Self::Installed)
    }

    /// Sets the variables that candle's build scripts need for `command`, a `cargo`.
    pub fn equip(&self, command: &mut Command) -> anyhow::Result<()> {
        let (Self::Installed(home) | Self::Assembled(home)) = self;
        let path = env::var_os("PATH").unwrap_or_default();
        let path = env::join_paths(std::iter::once(home.join("bin")).chain(env::split_paths(&path)))?;
        command.env("CUDA_HOME", home).env("NVCC", home.join("bin/nvcc")).env("PATH", path);
        if let Self::Assembled(_) = self {
            command.env("CUDA_COMPUTE_CAP", COMPUTE_CAP).env("CUDARC_CUDA_VERSION", CUDA_VERSION);
            for other in ["CUDA_PATH", "CUDA_ROOT", "CUDA_TOOLKIT_ROOT_DIR", "CUDNN_LIB"] {
                command.env_remove(other);
            }
        }
        // By default, cudaforge uses half of the processors.
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        command.env("CUDAFORGE_THREADS", threads.to_string());
        Ok(())
    }
}
