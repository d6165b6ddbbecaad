//! This binary itself: a device that is missing makes it fail, and a changed kernel makes the test of its op fail.

use std::fs;
use std::path::Path;
use std::process::Command;

use snuffer::device::Device;
use tempfile::TempDir;

use crate::place;
use crate::plan::{Test, tests};

pub const TESTS: &[Test] = tests![
    Once: a_missing_simulated_device_fails_each_of_its_tests_in_one_line_unless_it_is_excused,
    a_gpu_without_a_driver_fails_its_tests_in_one_line;
    Simulated: a_changed_kernel_fails_the_property_test_of_its_op
];

/// What the tests print whose names have `filter` in them, and whether they pass.
fn run(filter: &str, variables: &[(&str, &Path)]) -> (bool, String) {
    let mut tests = Command::new(std::env::current_exe().expect("a path"));
    tests.arg(filter).env_remove("SNUFFER_TEST_WITHOUT").env_remove("UPDATE_CORPORA").env("RUST_BACKTRACE", "0");
    let output = tests.envs(variables.iter().copied()).output().expect("the tests start");
    let text = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    (output.status.success(), text.concat())
}

fn a_missing_simulated_device_fails_each_of_its_tests_in_one_line_unless_it_is_excused() {
    let gone = ("SNUFFER_SIM_LIBRARY", Path::new("/gone"));
    let (passes, printed) = run("canary::every", &[gone]);
    let line = "sim:0 must be tested here: SNUFFER_SIM_LIBRARY names /gone, which is missing or not what it should be \
                (SNUFFER_TEST_WITHOUT=sim:0 leaves it out)";
    assert!(!passes && printed.contains(line), "{printed}");

    let (passes, printed) = run("canary::every", &[gone, ("SNUFFER_TEST_WITHOUT", Path::new("sim:0,cuda:0"))]);
    let ignored = printed.lines().any(|line| line.contains("::sim:0") && line.ends_with("ignored"));
    let last = printed.trim_end().lines().rev().take(3).find(|line| line.starts_with("NOT RUN: sim:0"));
    assert!(passes && ignored && last.is_some(), "{printed}");
    assert!(printed.contains("tested:  cpu, 1 test\n"), "{printed}");
}

fn a_gpu_without_a_driver_fails_its_tests_in_one_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = with_nvidia_smi(&folder);
    // Found before the driver that the machine may have.
    for name in ["libcuda.so", "libcuda.so.1", "libcuda.so.12", "libcuda.so.13"] {
        fs::write(folder.path().join(name), "").expect("writable");
    }
    let (passes, printed) = run("canary::every", &[("PATH", Path::new(&path)), ("LD_LIBRARY_PATH", folder.path())]);
    assert!(!passes, "{printed}");
    if cfg!(feature = "cuda") {
        // These tests are linked with the driver, as candle is: the loader says that it is missing.
        let lines: Vec<&str> = printed.lines().collect();
        assert!(matches!(&lines[..], [line] if line.contains("libcuda.so.1")), "{printed}");
        return;
    }
    let failed = printed.lines().find(|line| line.starts_with("cuda:0 must be tested here: ")).unwrap_or(&printed);
    assert!(failed.contains("libcuda.so.1") && failed.contains("SNUFFER_TEST_WITHOUT=cuda:0"), "{failed}");
}

/// A search path on which the first `nvidia-smi` lists a GPU.
fn with_nvidia_smi(folder: &TempDir) -> String {
    let tool = folder.path().join("nvidia-smi");
    fs::copy(place::root().join("xtask/nvidia-smi.sh"), &tool).expect("writable");
    let executable = Command::new("chmod").arg("+x").arg(&tool).status().expect("chmod runs");
    assert!(executable.success());
    format!("{}:{}", folder.path().display(), std::env::var("PATH").expect("a PATH"))
}

fn a_changed_kernel_fails_the_property_test_of_its_op(device: Device) {
    let test = format!("property::valid::op::{device}");
    let (passes, printed) = run(&test, &[("SNUFFER_SIM_MUTATE", Path::new("rmsnorm_f32:1"))]);
    assert!(!passes, "{printed}");
    let (_, failures) = printed.rsplit_once("new failures of op on ").expect(&printed);
    let named: Vec<&str> = failures.lines().filter_map(|line| line.strip_prefix("op = ")).collect();
    assert_eq!(named, ["\"op.rms_norm\""], "{failures}");
    assert!(failures.contains(&format!("replay: target/debug/snuffer replay - --device {device}")), "{failures}");
}
