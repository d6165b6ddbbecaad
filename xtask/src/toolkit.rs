//! The CUDA toolkit: the installed one on machines with a GPU, else NVIDIA's compiler from `PyPI` under `target/cuda`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

use anyhow::{Context, bail, ensure};

use crate::{stubs, target};

/// The compute capability to compile for: candle's f8 kernels need at least 89.
const COMPUTE_CAP: &str = "90";
/// Whether the compiler from `PyPI` runs on this platform.
const PYPI_RUNS_HERE: bool = cfg!(all(target_os = "linux", target_arch = "x86_64"));
const PACKAGES: &str = include_str!("../toolkit.txt");

/// Where `nvcc` and the libraries to link come from.
pub enum Toolkit {
    /// The installed one, on a machine with a GPU: the folder that has `bin/nvcc`.
    Installed(PathBuf),
    /// The one from `PyPI`: PTX for the simulated device, and stub libraries to link.
    Assembled(PathBuf),
}

/// Whether this machine can have a toolkit.
pub fn there_is_one() -> bool {
    PYPI_RUNS_HERE || Toolkit::installed().is_some()
}

impl Toolkit {
    /// The installed toolkit, if the machine also has a GPU.
    pub fn installed() -> Option<Self> {
        let gpu = Path::new("/dev/nvidia0").exists() || succeeds(Command::new("nvidia-smi").arg("-L"));
        let on_path = env::split_paths(&env::var_os("PATH")?).map(|bin| bin.join("..")).collect::<Vec<_>>();
        let named = env::var_os("CUDA_HOME").map(PathBuf::from);
        let places = on_path.into_iter().chain(named).chain(["/usr/local/cuda".into()]);
        places
            .filter(|home| gpu && home.join("bin/nvcc").is_file())
            .find_map(|home| home.canonicalize().ok())
            .map(Self::Installed)
    }

    /// Installs the compiler if it is missing, and assembles a `CUDA_HOME` around it.
    pub fn assemble() -> anyhow::Result<Self> {
        ensure!(PYPI_RUNS_HERE, "PyPI has NVIDIA's compiler for x86-64 Linux only");
        for compiler in ["cc", "gcc", "g++"] {
            let there = succeeds(Command::new(compiler).arg("--version"));
            ensure!(
                there,
                "`{compiler}` is missing: nvcc needs a C and C++ compiler; install one, such as Debian's package g++"
            );
        }
        let folder = target()?.join("cuda");
        let home = folder.join("home");
        once(&folder.join("packages"), PACKAGES, install)?;
        if once(&home, &stubs::stamp()?, stubs::assemble)? {
            // Cargo does not notice that the compiler changed.
            succeeds(crate::cargo().args(["clean", "--quiet", "--package", "candle-kernels"]));
        }
        Ok(Self::Assembled(home))
    }

    /// Whether it is for the simulated device.
    pub fn is_simulated(&self) -> bool {
        matches!(self, Self::Assembled(_))
    }

    /// Sets the variables that candle's build scripts need for `command`, a `cargo`.
    pub fn equip(&self, command: &mut Command) -> anyhow::Result<()> {
        let (Self::Installed(home) | Self::Assembled(home)) = self;
        let path = env::var_os("PATH").unwrap_or_default();
        let path = env::join_paths(std::iter::once(home.join("bin")).chain(env::split_paths(&path)))?;
        command.env("CUDA_HOME", home).env("NVCC", home.join("bin/nvcc")).env("PATH", path);
        if let Self::Assembled(_) = self {
            command.env("CUDA_COMPUTE_CAP", COMPUTE_CAP).env("CUDARC_CUDA_VERSION", "13000");
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

/// Fills `folder` with `make`, unless its stamp shows that this is done. An interrupted run starts over. Returns whether
/// `make` ran.
pub fn once(folder: &Path, stamp: &str, make: impl FnOnce(&Path) -> anyhow::Result<()>) -> anyhow::Result<bool> {
    if fs::read_to_string(folder.join("stamp")).is_ok_and(|found| found == stamp) {
        return Ok(false);
    }
    let partial = folder.with_extension("partial");
    for old in [&partial, folder].into_iter().filter(|old| old.exists()) {
        fs::remove_dir_all(old).with_context(|| format!("cannot remove {}", old.display()))?;
    }
    fs::create_dir_all(&partial).with_context(|| format!("cannot create {}", partial.display()))?;
    make(&partial)?;
    fs::write(partial.join("stamp"), stamp)?;
    fs::rename(&partial, folder)?;
    Ok(true)
}

fn install(folder: &Path) -> anyhow::Result<()> {
    let python = || Command::new("python3");
    ensure!(
        succeeds(python().arg("--version")),
        "`python3` is missing: it fetches NVIDIA's compiler from PyPI; install it"
    );
    ensure!(
        succeeds(python().args(["-m", "pip", "--version"])),
        "python3 has no pip; install it, such as Debian's package python3-pip"
    );
    let list = folder.join("toolkit.txt");
    fs::write(&list, PACKAGES)?;
    let flags = ["-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check", "--retries", "2"];
    let safe = ["--only-binary", ":all:", "--no-deps", "--require-hashes", "--target"];
    let output = python().args(flags).args(safe).arg(folder).arg("-r").arg(&list).output()?;
    if !output.status.success() {
        bail!("{}", reason(&String::from_utf8_lossy(&output.stderr)));
    }
    Ok(())
}

/// The reason in pip's error output.
fn reason(stderr: &str) -> String {
    const REASONS: [(&str, &str); 4] = [
        ("DO NOT MATCH THE HASHES", "a package from PyPI or a mirror differs from xtask/toolkit.txt (hash mismatch)"),
        ("No space left", "the disk is full: the compiler needs 500 MB"),
        ("connection broken", "no network: PyPI cannot be reached"),
        ("No matching distribution", "this pip finds no package for x86-64 Linux with glibc 2.17 or later"),
    ];
    match REASONS.iter().find(|(sign, _)| stderr.contains(sign)) {
        Some((_, reason)) => (*reason).to_string(),
        None => format!("pip failed: {}", stderr.trim().lines().last().unwrap_or("without a message")),
    }
}

/// Whether `command` runs and ends with 0.
pub fn succeeds(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}
