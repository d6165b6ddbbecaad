//! Builds the simulated device's driver: of the checkout that this program was built from, or else as it is published.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use snuffer_toolkit::{build_driver, install_driver};

/// The checkout that this program was built from, if it was not built from a package.
const CHECKOUT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// A package that depends on the published driver and has nothing of its own.
const MANIFEST: &str = concat!(
    "[package]\nname = \"simulated-device\"\nedition = \"2024\"\n\n[lib]\npath = \"lib.rs\"\n\n[workspace]\n\n",
    "[dependencies]\nsnuffer-simulator-driver = \"=",
    env!("CARGO_PKG_VERSION"),
    "\"\n",
);
/// The versions of all that this program and the driver depend on.
const LOCK: &str = include_str!("../Cargo.lock");

/// Builds the driver and installs it in `folder`.
pub fn set_up(folder: &Path) -> anyhow::Result<()> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    if Path::new(CHECKOUT).join("simulator/driver/Cargo.toml").is_file() {
        cargo.current_dir(CHECKOUT).arg("--locked");
    } else {
        cargo.current_dir(package(folder)?);
    }
    let status = build_driver(&mut cargo, folder).status().context("cannot run cargo")?;
    ensure!(status.success(), "the simulated device did not build");
    install_driver(folder)?;
    Ok(())
}

/// Writes the package below `folder`. Cargo keeps the versions of the lock file, and takes out what the driver does not need.
fn package(folder: &Path) -> anyhow::Result<PathBuf> {
    let package = folder.join("package");
    let write = |name: &str, text: &str| fs::write(package.join(name), text);
    fs::create_dir_all(&package)
        .and_then(|()| write("Cargo.toml", MANIFEST))
        .and_then(|()| write("Cargo.lock", LOCK))
        .and_then(|()| write("lib.rs", ""))
        .with_context(|| format!("cannot write {}", package.display()))?;
    Ok(package)
}
