//! Crates that tests build: programs of plain candle code, linked with the candle that this build has compiled already.

use std::path::{Path, PathBuf};

use snuffer::device::Device;
use snuffer::exec::reproduction;
use snuffer::program::{Candle, manifest};

/// Builds a crate with this `main.rs`, in a folder that stays, and returns its executable.
pub fn compile(krate: &str, device: Device, main: &str) -> PathBuf {
    let tmp = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let folder = tmp.join("programs").join(krate);
    std::fs::create_dir_all(folder.join("src")).expect("writable");
    let all = format!("{main}// half:: float8::");
    let manifest = manifest(krate, &all, device, Candle::TESTED) + &same_dependencies(krate, device);
    std::fs::write(folder.join("src/main.rs"), main).expect("writable");
    std::fs::write(folder.join("Cargo.toml"), manifest).expect("writable");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    std::fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock")).expect("writable");
    let target = tmp.parent().expect("the target folder");
    reproduction::build(&folder, target).expect("every program compiles");
    reproduction::executable(target, krate)
}

/// What makes Cargo take candle and all below it from this build: the same profile, and the same features, which `snuffer`
/// as a dependency turns on. The crate itself is compiled without optimizations, as most tests are long and run once.
fn same_dependencies(krate: &str, device: Device) -> String {
    let root = env!("CARGO_MANIFEST_DIR");
    // On CUDA the worker's features: `cargo xtask` has built it with these.
    let features = match device {
        Device::Cpu => "",
        _ => ", default-features = false, features = [\"cuda\", \"worker\", \"cli-dependencies\"]",
    };
    let ours: toml::Table = std::fs::read_to_string(Path::new(root).join("Cargo.toml"))
        .expect("readable")
        .parse()
        .expect("Cargo has read it");
    let mut dev = ours["profile"]["dev"].as_table().expect("a profile").clone();
    let packages = dev["package"].as_table_mut().expect("packages");
    packages.insert(krate.to_string(), toml::Table::from_iter([("opt-level".to_string(), 0.into())]).into());
    let profile = toml::Table::from_iter([("dev".to_string(), dev.into())]);
    let profiles = toml::Table::from_iter([("profile".to_string(), profile.into())]);
    format!("snuffer = {{ path = \"{root}\"{features} }}\n\n{profiles}")
}
