//! Crates that tests build: programs of plain candle code, linked with the candle that this build has compiled already.

use std::path::{Path, PathBuf};
use std::process::Command;

use snuffer::candles::Shared;
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
    let all = format!("{main}// half:: float8:: rayon::");
    let shared = Shared::of(&manifest(krate, &all, device, Candle::TESTED), device).expect("manifests");
    let Shared { manifest, lock } = shared.expect("the project's sources");
    for (file, content) in
        [("src/main.rs", main.as_bytes()), ("Cargo.toml", manifest.as_bytes()), ("Cargo.lock", &lock)]
    {
        std::fs::write(folder.join(file), content).expect("writable");
    }
    let target = tmp.parent().expect("the target folder");
    reproduction::build(&folder, target).expect("every program compiles");
    reproduction::executable(target, krate)
}
