//! The folder with NVIDIA's compiler and the simulated device, which all programs of a user share.

use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail, ensure};
use etcetera::{BaseStrategy, choose_base_strategy};
use snuffer_toolkit::{Toolkit, fetch_nvrtc, libraries, nvrtc, there_is_one};

use crate::driver;

/// The variable that names another folder.
const VARIABLE: &str = "SNUFFER_HOME";

/// The variables that name the folder of the toolkit, beside `CUDA_HOME`.
const FOLDER_VARIABLES: [&str; 4] = ["CUDA_PATH", "CUDA_ROOT", "CUDA_TOOLKIT_ROOT_DIR", "CUDA_LIBRARY_PATH"];
/// The variable that chooses the version of CUDA that cudarc binds. Without it and without a feature, that is the compiler's.
const CUDARC_VERSION: &str = "CUDARC_CUDA_VERSION";

/// What programs are built with and run on.
pub struct Home {
    pub toolkit: Toolkit,
    /// The folders of libraries that programs load: the simulated device's, and before it NVRTC's if that is installed.
    pub libraries: OsString,
}

impl Home {
    /// The folder: `SNUFFER_HOME`, or one in the user's cache for this version.
    pub fn folder() -> anyhow::Result<PathBuf> {
        if let Some(folder) = std::env::var_os(VARIABLE) {
            return Ok(std::path::absolute(folder)?);
        }
        let user =
            choose_base_strategy().with_context(|| format!("there is no home folder; set {VARIABLE} to a folder"))?;
        Ok(user.cache_dir().join("snuffer").join(env!("CARGO_PKG_VERSION")))
    }

    /// What is set up, after setting it up if it is not. Asks a person first.
    pub fn ready(is_agreed: bool) -> anyhow::Result<Self> {
        let folder = Self::folder()?;
        if let Some(home) = Self::found(&folder) {
            return Ok(home);
        }
        ensure!(there_is_one(), "the simulated device needs NVIDIA's compiler, which PyPI has for x86-64 Linux only");
        if !is_agreed && !agrees(&folder)? {
            bail!("the simulated device is not set up; run `cargo snuffer setup`");
        }
        eprintln!("cargo snuffer: fetching NVIDIA's compiler from PyPI into {} (half a minute)", folder.display());
        Toolkit::assemble(&folder)?;
        eprintln!("cargo snuffer: building the simulated device (a minute)");
        driver::set_up(&folder)?;
        Self::found(&folder).context("the set-up is not complete; run `cargo snuffer setup`")
    }

    /// Sets the variables by which build scripts of any crate find the toolkit in `cargo`.
    ///
    /// Of an assembled toolkit, its folder is named by every variable that is in use: crates differ in which they read. A crate that
    /// names no folder to link from counts on the system's having the libraries, so the linker looks there too.
    pub fn equip(&self, cargo: &mut Command) -> anyhow::Result<()> {
        self.toolkit.equip(cargo)?;
        if let Toolkit::Assembled(folder) = &self.toolkit {
            for name in FOLDER_VARIABLES {
                cargo.env(name, folder);
            }
            let others = std::env::var_os("LIBRARY_PATH").unwrap_or_default();
            let places = std::iter::once(folder.join("lib")).chain(std::env::split_paths(&others));
            cargo.env("LIBRARY_PATH", std::env::join_paths(places)?);
            // Only the user may choose. A crate may bind another version, and cudarc does not compile for two.
            match std::env::var_os(CUDARC_VERSION) {
                Some(version) => cargo.env(CUDARC_VERSION, version),
                None => cargo.env_remove(CUDARC_VERSION),
            };
        }
        Ok(())
    }

    /// What is set up in `folder`, if all is.
    pub fn found(folder: &Path) -> Option<Self> {
        let simulator = libraries(folder);
        let toolkit = Toolkit::assembled(folder).filter(|_| simulator.join("libcuda.so.1").is_file())?;
        let libraries = std::env::join_paths(nvrtc(folder).into_iter().chain([simulator])).ok()?;
        Some(Self { toolkit, libraries })
    }
}

/// `cargo snuffer setup`: what is there is built again if its sources changed.
pub fn set_up(is_agreed: bool, with_nvrtc: bool) -> anyhow::Result<u8> {
    let folder = Home::folder()?;
    if with_nvrtc {
        eprintln!("cargo snuffer: fetching NVRTC from PyPI into {} (90 MB)", folder.display());
        fetch_nvrtc(&folder)?;
    }
    if Home::found(&folder).is_some() {
        driver::set_up(&folder)?;
    } else {
        Home::ready(is_agreed)?;
    }
    println!("ready in {}", folder.display());
    Ok(0)
}

/// Whether a person agrees to the set-up. Where nobody can be asked, asking for a run is agreement.
fn agrees(folder: &Path) -> anyhow::Result<bool> {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Ok(true);
    }
    eprint!(
        "This is the first use of the simulated device. It needs NVIDIA's compiler (100 MB from PyPI, under NVIDIA's \
         licence) and takes two minutes to build, once, in {}. Continue? [Y/n] ",
        folder.display()
    );
    std::io::stderr().flush()?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(!answer.trim().to_lowercase().starts_with('n'))
}
