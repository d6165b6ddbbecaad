//! NVIDIA's compiler from `PyPI`, checked by hash, and a `CUDA_HOME` around it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{bail, ensure};

use crate::once::{is_done, once};
use crate::{Toolkit, remedy, stubs, succeeds};

/// Whether the compiler from `PyPI` runs on this platform.
const PYPI_RUNS_HERE: bool = cfg!(all(target_os = "linux", target_arch = "x86_64"));
const PACKAGES: &str = include_str!("../packages.txt");
const NVRTC: &str = include_str!("../nvrtc.txt");
/// Where the package has its libraries.
const NVRTC_FOLDER: &str = "nvrtc/nvidia/cu13/lib";

/// Whether this machine can have a toolkit.
pub fn there_is_one() -> bool {
    PYPI_RUNS_HERE || Toolkit::installed().is_some()
}

impl Toolkit {
    /// Installs the compiler below `folder` if it is missing, and assembles a `CUDA_HOME` around it. Returns also whether that is new:
    /// Cargo does not notice that a compiler changed.
    pub fn assemble(folder: &Path) -> anyhow::Result<(Self, bool)> {
        ensure!(PYPI_RUNS_HERE, "PyPI has NVIDIA's compiler for x86-64 Linux only");
        for compiler in ["cc", "gcc", "g++"] {
            let there = succeeds(Command::new(compiler).arg("--version"));
            ensure!(there, "nvcc needs `{compiler}`, which is missing: {}", remedy("C and C++ compiler"));
        }
        let home = Self::assembled_home(folder);
        once(&folder.join("cuda/packages"), PACKAGES, |partial| install(partial, PACKAGES))?;
        let is_new = once(&home, &stubs::stamp(), stubs::assemble)?;
        Ok((Self::Assembled(home), is_new))
    }

    /// What [`Toolkit::assemble`] left below `folder`, if it has nothing to do.
    pub fn assembled(folder: &Path) -> Option<Self> {
        let home = Self::assembled_home(folder);
        let is_complete = is_done(&folder.join("cuda/packages"), PACKAGES) && is_done(&home, &stubs::stamp());
        is_complete.then_some(Self::Assembled(home))
    }

    fn assembled_home(folder: &Path) -> PathBuf {
        folder.join("cuda/home")
    }
}

/// Installs NVRTC below `folder` if it is missing: the compiler that programs call while they run.
pub fn fetch_nvrtc(folder: &Path) -> anyhow::Result<()> {
    ensure!(PYPI_RUNS_HERE, "PyPI has NVRTC for x86-64 Linux only");
    once(&folder.join("nvrtc"), NVRTC, |partial| install(partial, NVRTC))?;
    // The package has only the name with the version. Programs that load it while they run also ask for the other.
    let name = folder.join(NVRTC_FOLDER).join(stubs::unversioned("nvrtc"));
    if fs::symlink_metadata(&name).is_err() {
        symlink(stubs::soname("nvrtc", 13), name)?;
    }
    Ok(())
}

/// The folder with NVRTC's libraries, if it is installed.
pub fn nvrtc(folder: &Path) -> Option<PathBuf> {
    is_done(&folder.join("nvrtc"), NVRTC).then(|| folder.join(NVRTC_FOLDER))
}

/// Installs the packages of a list with hashes in `folder`.
pub fn install(folder: &Path, packages: &str) -> anyhow::Result<()> {
    let python = || Command::new("python3");
    ensure!(
        succeeds(python().args(["-m", "pip", "--version"])),
        "fetching NVIDIA's compiler from PyPI needs python3 with pip, which is missing: {}",
        remedy("Python with pip")
    );
    let list = folder.join("packages.txt");
    fs::write(&list, packages)?;
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
    const REASONS: [(&str, &str); 6] = [
        (
            "DO NOT MATCH THE HASHES",
            "a package's hash differs from the one in toolkit/: its download was incomplete, or a mirror changed it; \
             try again",
        ),
        ("No space left", "the disk is full: the compiler needs 500 MB"),
        ("SSLError", "PyPI's certificate is not trusted here: set PIP_CERT to your certificates"),
        ("connection broken", "no network: PyPI cannot be reached"),
        ("Read timed out", "the network is too slow or was interrupted: try again"),
        ("No matching distribution", "this pip finds no package for x86-64 Linux with glibc 2.17 or later"),
    ];
    match REASONS.iter().find(|(sign, _)| stderr.contains(sign)) {
        Some((_, reason)) => (*reason).to_string(),
        None => format!("pip failed: {}", stderr.trim().lines().last().unwrap_or("without a message")),
    }
}

#[cfg(test)]
mod tests {
    use super::reason;

    #[test]
    fn what_pip_prints_becomes_one_clear_line() {
        // What pip 23.2 prints, shortened.
        for (stderr, clear) in [
            (
                "WARNING: Retrying after connection broken by 'NewConnectionError('[Errno -2] Name or service not known')'\n\
                 ERROR: No matching distribution found for nvidia-cuda-cccl==13.0.85",
                "no network: PyPI cannot be reached",
            ),
            (
                "WARNING: Retrying after connection broken by 'SSLError(SSLCertVerificationError(1, '…'))': /simple/\n\
                 ERROR: No matching distribution found for nvidia-cuda-cccl==13.0.85",
                "PyPI's certificate is not trusted here: set PIP_CERT to your certificates",
            ),
            (
                "    raise ReadTimeoutError(self._pool, None, \"Read timed out.\")\n\
                 pip._vendor.urllib3.exceptions.ReadTimeoutError: HTTPConnectionPool(port=443): Read timed out.",
                "the network is too slow or was interrupted: try again",
            ),
            (
                "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device\n",
                "the disk is full: the compiler needs 500 MB",
            ),
            (
                "ERROR: No matching distribution found for nvidia-cuda-cccl==13.0.85",
                "this pip finds no package for x86-64 Linux with glibc 2.17 or later",
            ),
            ("ERROR: something else\n\n", "pip failed: ERROR: something else"),
            ("", "pip failed: without a message"),
        ] {
            assert_eq!(reason(stderr), clear, "{stderr}");
        }
    }
}
