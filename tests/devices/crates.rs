//! Crates that tests build: programs of plain candle code, linked with the candle that this build has compiled already.

use std::path::{Path, PathBuf};
use std::process::Command;

use snuffer::device::Device;
use snuffer::exec::reproduction;
use snuffer::program::{Candle, manifest};

/// Builds a crate with this `main.rs`, in a folder that stays, and returns its executable.
pub fn compile(krate: &str, device: Device, main: &str) -> PathBuf {
    let has_compiler = || Command::new("nvcc").arg("--version").output().is_ok_and(|output| output.status.success());
    assert!(
        device == Device::Cpu || has_compiler(),
        "programs for {device} need NVIDIA's compiler, and `nvcc` does not run; `cargo xtask test` names it"
    );
    let tmp = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let folder = tmp.join("programs").join(krate);
    std::fs::create_dir_all(folder.join("src")).expect("writable");
    let all = format!("{main}// half:: float8::");
    let manifest = with_our_dependencies(&manifest(krate, &all, device, Candle::TESTED), krate, device);
    std::fs::write(folder.join("src/main.rs"), main).expect("writable");
    std::fs::write(folder.join("Cargo.toml"), manifest).expect("writable");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    std::fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock")).expect("writable");
    let target = tmp.parent().expect("the target folder");
    reproduction::build(&folder, target).expect("every program compiles");
    reproduction::executable(target, krate)
}

/// `manifest` with what makes Cargo take candle and all below it from this build: the same profile, and the dependencies that
/// turn on the same features. The crate itself is compiled without optimizations, as most tests are long and run once.
fn with_our_dependencies(manifest: &str, krate: &str, device: Device) -> String {
    let mut manifest: toml::Table = manifest.parse().expect("a manifest");
    let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    let ours: toml::Table = std::fs::read_to_string(ours).expect("readable").parse().expect("Cargo has read it");
    let dependencies = manifest["dependencies"].as_table_mut().expect("dependencies");
    for (name, dependency) in ours["dependencies"].as_table().expect("dependencies") {
        let mut dependency = dependency.clone();
        dependency.as_table_mut().and_then(|fields| fields.remove("optional"));
        // A crate of our own is not below candle.
        let is_own = dependency.get("path").is_some();
        if !is_own && !dependencies.contains_key(name) && (device != Device::Cpu || name != "libloading") {
            dependencies.insert(name.clone(), dependency);
        }
    }
    let mut dev = ours["profile"]["dev"].as_table().expect("a profile").clone();
    let packages = dev["package"].as_table_mut().expect("packages");
    packages.insert(krate.to_string(), toml::Table::from_iter([("opt-level".to_string(), 0.into())]).into());
    manifest.insert("profile".to_string(), toml::Table::from_iter([("dev".to_string(), dev.into())]).into());
    manifest.to_string()
}
