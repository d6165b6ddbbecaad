//! The CUDA toolkit: the installed one on machines with a GPU, else NVIDIA's compiler from `PyPI` under `target/cuda`.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, bail, ensure};

use crate::tools::remedy;
use crate::{stubs, target};

pub use crate::cuda::{COMPUTE_CAP, CUDA_VERSION, Toolkit};

/// Whether the compiler from `PyPI` runs on this platform.
const PYPI_RUNS_HERE: bool = cfg!(all(target_os = "linux", target_arch = "x86_64"));
const PACKAGES: &str = include_str!("../toolkit.txt");

/// A compute capability, such as 7.5.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capability {
    major: u32,
    minor: u32,
}

impl Capability {
    /// That of [`COMPUTE_CAP`], whose worker is always built.
    pub const USUAL: Self = Self { major: 9, minor: 0 };

    /// Makes `cargo` build for this capability, in a target folder of its own: candle's kernels and all above them are others.
    /// `snuffer` looks there if `SNUFFER_SIM_CAPABILITY` says so.
    pub fn choose(self, cargo: &mut Command) -> anyhow::Result<()> {
        let folder = target()?.join("capability").join(self.to_string());
        cargo.env("CUDA_COMPUTE_CAP", format!("{}{}", self.major, self.minor)).arg("--target-dir").arg(folder);
        Ok(())
    }
}

impl std::str::FromStr for Capability {
    type Err = String;
    /// `7.5`, or as in `CUDA_COMPUTE_CAP`, `75`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (major, minor) =
            text.split_once('.').or_else(|| text.split_at_checked(text.len().checked_sub(1)?)).unwrap_or_default();
        let number = |digits: &str| digits.parse::<u32>().ok();
        match (number(major), number(minor)) {
            (Some(major @ 5..100), Some(minor @ 0..10)) => Ok(Self { major, minor }),
            _ => Err(format!("`{text}` is no compute capability; write one like 7.5")),
        }
    }
}

impl std::fmt::Display for Capability {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// Whether this machine can have a toolkit.
pub fn there_is_one() -> bool {
    PYPI_RUNS_HERE || Toolkit::installed().is_some()
}

impl Toolkit {
    /// Installs the compiler if it is missing, and assembles a `CUDA_HOME` around it.
    pub fn assemble() -> anyhow::Result<Self> {
        ensure!(PYPI_RUNS_HERE, "PyPI has NVIDIA's compiler for x86-64 Linux only");
        for compiler in ["cc", "gcc", "g++"] {
            let there = succeeds(Command::new(compiler).arg("--version"));
            ensure!(there, "nvcc needs `{compiler}`, which is missing: {}", remedy("C and C++ compiler"));
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
        succeeds(python().args(["-m", "pip", "--version"])),
        "NVIDIA's compiler comes from PyPI by python3 with pip, which is missing: {}",
        remedy("Python with pip")
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
    const REASONS: [(&str, &str); 6] = [
        (
            "DO NOT MATCH THE HASHES",
            "a package from PyPI or a mirror differs from xtask/toolkit.txt (hash mismatch), or its download broke off: try again",
        ),
        ("No space left", "the disk is full: the compiler needs 500 MB"),
        ("SSLError", "PyPI's certificate is not trusted here: name your certificates in PIP_CERT"),
        ("connection broken", "no network: PyPI cannot be reached"),
        ("Read timed out", "the network is too slow, or broke off: try again"),
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

#[cfg(test)]
mod tests {
    use super::{Capability, once, reason};

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
                "PyPI's certificate is not trusted here: name your certificates in PIP_CERT",
            ),
            (
                "    raise ReadTimeoutError(self._pool, None, \"Read timed out.\")\n\
                 pip._vendor.urllib3.exceptions.ReadTimeoutError: HTTPConnectionPool(port=443): Read timed out.",
                "the network is too slow, or broke off: try again",
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

    #[test]
    fn a_capability_has_two_forms() {
        for (text, shown) in
            [("7.5", Some("7.5")), ("75", Some("7.5")), ("120", Some("12.0")), ("7", None), ("é", None)]
        {
            assert_eq!(text.parse::<Capability>().ok().map(|it| it.to_string()).as_deref(), shown, "{text}");
        }
    }

    #[test]
    fn an_interrupted_installation_starts_over_and_a_complete_one_is_kept() {
        let root = tempfile::tempdir().expect("a folder");
        let folder = root.path().join("packages");
        let made = |stamp: &str, is_complete: bool| {
            once(&folder, stamp, |partial| {
                assert_eq!(std::fs::read_dir(partial)?.count(), 0, "something is left of an earlier run");
                std::fs::write(partial.join("package"), stamp)?;
                anyhow::ensure!(is_complete, "interrupted");
                Ok(())
            })
        };
        assert!(made("1", false).is_err() && !folder.exists());
        assert!(made("1", true).expect("made") && !made("1", true).expect("kept"));
        assert!(made("2", false).is_err() && !folder.exists(), "another version replaces it");
        assert!(made("2", true).expect("made"));
        assert_eq!(std::fs::read_to_string(folder.join("package")).expect("readable"), "2");
    }
}
