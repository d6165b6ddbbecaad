//! A worker starts from where the user says, if it is the right one, and leaves nothing behind.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, SystemTime};

use snuffer::device::Device;
use snuffer::exec::protocol::build_identity;
use snuffer::exec::unusable_device::lacks;
use snuffer::exec::{Build, CandleUnderTest, environment};

use crate::cli::{code, command, text};

const CASE: &str = "op = 'tensor.exp'\n[inputs.x]\ndtype = 'f32'\nshape = [1]\nvalues.list = [0.5]";

/// The path of a case that passes, in `folder`.
fn case(folder: &Path) -> String {
    let path = folder.join("case.toml");
    fs::write(&path, CASE).expect("written");
    path.to_str().expect("utf-8").to_string()
}

#[test]
fn a_worker_with_other_checks_is_rejected() {
    let folder = tempfile::tempdir().expect("a folder");
    let unchecked = environment::executable(Device::Cpu, Build::Unchecked).expect("`cargo xtask test` builds it");
    let mut replay = command(folder.path(), &["replay", &case(folder.path())]);
    let output = replay.env("SNUFFER_WORKER", unchecked).output().expect("snuffer starts");
    let shown = text(&output.stderr);
    assert!(code(&output) == 1 && shown.contains("was built with other checks; run `cargo build`"), "{shown}");
}

#[test]
fn a_worker_of_another_candle_has_another_identity() {
    let other = |workers| CandleUnderTest {
        version: snuffer::CANDLE.to_string(),
        built: "0123".to_string(),
        workers,
        ..CandleUnderTest::default()
    };
    assert_ne!(build_identity(Some(&other(Some(PathBuf::from("workers"))))), build_identity(None));
    // Only its kernels differ.
    assert_eq!(build_identity(Some(&other(None))), build_identity(None));
}

#[test]
fn a_worker_is_looked_for_in_the_folder_where_it_was_found() {
    let folder = tempfile::tempdir().expect("a folder");
    symlink(env!("CARGO_BIN_EXE_snuffer-worker"), folder.path().join("my-worker")).expect("linked");
    let mut replay = command(folder.path(), &["replay", &case(folder.path())]);
    let output = replay.env("SNUFFER_WORKER", "my-worker").current_dir(folder.path()).output().expect("it starts");
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
}

#[test]
fn folders_of_killed_runs_are_removed_and_those_of_others_stay() {
    let folder = tempfile::tempdir().expect("a folder");
    let [left, used, new] = ["left", "used", "new"].map(|name| folder.path().join(format!("snuffer-worker-{name}")));
    let locks = [&left, &used, &new].map(|path| {
        fs::create_dir(path).expect("made");
        File::open(path).expect("there")
    });
    let old = SystemTime::now() - Duration::from_secs(120);
    locks[..2].iter().for_each(|lock| lock.set_modified(old).expect("changed"));
    locks[1].lock().expect("locked");
    let mut replay = command(folder.path(), &["replay", &case(folder.path())]);
    assert_eq!(code(&replay.env("TMPDIR", folder.path()).output().expect("snuffer starts")), 0);
    assert_eq!([left, used, new].map(|path| path.exists()), [false, true, true]);
}

#[test]
fn a_wrong_variable_of_the_simulated_device_is_named() {
    let complaint = "SNUFFER_SIM_BUDGET=garbage: must be a number from 1";
    let printed = format!("snuffer-sim: {complaint}\nsnuffer-worker: cannot open: CUDA_ERROR_SYSTEM_NOT_READY");
    assert_eq!(lacks(Device::Sim(0), &printed).as_deref(), Some(complaint));
}

#[test]
fn help_that_cannot_be_written_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = command(folder.path(), &["--help"]).stdout(full()).stderr(Stdio::piped()).output().expect("it starts");
    assert_eq!(code(&output), 5, "{}", text(&output.stderr));
}

#[test]
fn a_message_that_cannot_be_written_does_not_change_the_exit_code() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = command(folder.path(), &["replay", "nothing"]).stderr(full()).output().expect("it starts");
    assert_eq!(code(&output), 1);
}

/// A file on a full disk.
fn full() -> File {
    fs::OpenOptions::new().write(true).open("/dev/full").expect("a full disk")
}
