//! `cargo snuffer` as a user runs it, in the folder of the program.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The folder of the program that is tested.
pub const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/program");

/// Cargo's target folder, where `cargo xtask` sets everything up.
pub fn target() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("a folder").to_path_buf()
}

/// Where the program is built.
pub fn built() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("any-program")
}

/// Runs `cargo snuffer` with these arguments.
pub fn snuffer(args: &[&str]) -> Output {
    let home = target();
    assert!(
        home.join("simulator/lib/libcuda.so.1").is_file() && home.join("cuda/home").is_dir(),
        "the simulated device is not set up: `cargo xtask build`, or leave it out with SNUFFER_TEST_WITHOUT=sim:0"
    );
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-snuffer"));
    // As Cargo calls it.
    command.arg("snuffer").args(args).current_dir(PROGRAM);
    command.env("SNUFFER_HOME", home).env("CARGO_TARGET_DIR", built()).env("RUST_BACKTRACE", "0");
    for variable in ["SNUFFER_SIM_FAIL", "SNUFFER_SIM_JITTER", "SNUFFER_SIM_MUTATE", "RUST_TEST_THREADS"] {
        command.env_remove(variable);
    }
    command.output().expect("cargo-snuffer starts")
}

/// The code, what went to the output and what to the error stream.
pub fn parts(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}
