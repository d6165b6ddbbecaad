//! The simulated device's driver: one library that replaces all CUDA libraries, linked under each of their names.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use crate::stubs::{LIBRARIES, soname, unversioned};

/// Where programs find the driver that is installed in `folder`.
pub fn libraries(folder: &Path) -> PathBuf {
    folder.join("simulator/lib")
}

/// The profile with which the driver is built. It checks programs, and needs no checks of its own.
const PROFILE: [&str; 4] = [
    "profile.driver.inherits = 'release'",
    "profile.driver.debug = 'line-tables-only'",
    "profile.driver.debug-assertions = false",
    "profile.driver.overflow-checks = false",
];

/// Gives `cargo`, which runs in a package or a workspace that knows the driver, the arguments that build it below `folder`.
pub fn build_driver<'a>(cargo: &'a mut Command, folder: &Path) -> &'a mut Command {
    cargo.args(PROFILE.iter().flat_map(|setting| ["--config", setting]));
    cargo.args(["build", "--profile", "driver", "--package", "snuffer-simulator-driver", "--target-dir"]);
    // Warps are simulated with vectors. The driver has its own target folder, so that this flag rebuilds nothing else.
    if wide_vectors() {
        cargo.env("RUSTFLAGS", "-C target-cpu=x86-64-v3");
    }
    cargo.arg(folder.join("simulator"))
}

/// Installs the driver that was built below `folder`, under the names of all libraries that it replaces. Returns the folder in which
/// programs find it.
pub fn install_driver(folder: &Path) -> anyhow::Result<PathBuf> {
    let lib = libraries(folder);
    let [(driver, version), others @ ..] = &LIBRARIES;
    let driver = soname(driver, *version);
    fs::create_dir_all(&lib).with_context(|| format!("cannot make {}", lib.display()))?;
    // Renamed into place, so that running programs keep the library that they have loaded.
    let (built, new) = (folder.join("simulator/driver/libcuda.so"), lib.join(format!("new-{}", std::process::id())));
    fs::copy(&built, &new).with_context(|| format!("cannot copy {} to {}", built.display(), new.display()))?;
    fs::rename(new, lib.join(&driver)).with_context(|| format!("cannot replace {driver} in {}", lib.display()))?;
    for (library, version) in others {
        link(&driver, &lib.join(soname(library, *version)))?;
    }
    // Programs that load them while they run ask for these names, too.
    for (library, _) in &LIBRARIES {
        link(&driver, &lib.join(unversioned(library)))?;
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
