//! The simulated device's driver: one library that replaces all CUDA libraries, linked under each of their names.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::set_up::build;
use crate::stubs::{LIBRARIES, soname};
use crate::{cargo, target};

/// Builds and installs the driver. Returns the folder in which workers of a simulated device find it.
pub fn install() -> anyhow::Result<PathBuf> {
    let folder = target()?.join("simulator");
    let mut cargo = cargo();
    cargo
        .args(["build", "--locked", "--profile", "driver", "--package", "snuffer-simulator-driver", "--target-dir"])
        .arg(&folder);
    // Warps are simulated with vectors. The driver has its own target folder, so that this flag rebuilds nothing else.
    if wide_vectors() {
        cargo.env("RUSTFLAGS", "-C target-cpu=x86-64-v3");
    }
    build("the simulated device", "a minute on a new machine", &mut cargo)?;
    let lib = folder.join("lib");
    let [(driver, version), others @ ..] = &LIBRARIES;
    let driver = soname(driver, *version);
    fs::create_dir_all(&lib).with_context(|| format!("cannot make {}", lib.display()))?;
    // Renamed into place, so that running hunts keep the library that they have loaded.
    let (built, new) = (folder.join("driver/libcuda.so"), lib.join("new"));
    fs::copy(&built, &new).with_context(|| format!("cannot copy {} to {}", built.display(), new.display()))?;
    fs::rename(new, lib.join(&driver)).with_context(|| format!("cannot replace {driver} in {}", lib.display()))?;
    for (library, version) in others {
        link(&driver, &lib.join(soname(library, *version)))?;
    }
    Ok(lib)
}

fn link(driver: &str, name: &Path) -> anyhow::Result<()> {
    if fs::read_link(name).is_ok_and(|found| found.as_os_str() == driver) {
        return Ok(());
    }
    symlink(driver, name).with_context(|| format!("cannot link {}", name.display()))
}

#[cfg(target_arch = "x86_64")]
fn wide_vectors() -> bool {
    std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma")
}

#[cfg(not(target_arch = "x86_64"))]
fn wide_vectors() -> bool {
    false
}
