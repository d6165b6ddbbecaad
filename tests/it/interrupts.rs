//! Signals: a hunt ends when it is asked to, at once before its first case, and then in order.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use snuffer::store::Record;

use crate::cli::{code, command, text};

/// A hunt of `cases` with two threads.
pub fn hunt(store: &Path, more: &[&str], cases: u64) -> Command {
    let cases = cases.to_string();
    let args = ["hunt", "--cases", &cases, "--jobs", "2", "--minimize", "300ms", "--json"];
    let mut command = command(store, &[&args[..], more].concat());
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

/// Waits until the hunt prints its event of the canary.
pub fn wait_for_the_first_case(hunt: &mut Child) {
    let output = BufReader::new(hunt.stdout.take().expect("a pipe"));
    let mut lines = output.lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains("\"canary\"")), "the hunt begins");
    // Somebody reads on, so that the hunt is not stopped by a full pipe.
    std::thread::spawn(move || lines.for_each(drop));
}

fn record(store: &Path) -> Record {
    Record::latest(&store.join("campaigns")).expect("readable").expect("a campaign").1
}

#[test]
fn a_signal_before_the_first_case_ends_a_hunt_at_once() {
    for (signal, expected) in [(Signal::TERM, 143), (Signal::INT, 130)] {
        let store = tempfile::tempdir().expect("a folder");
        let mut hunt = hunt(store.path(), &["--ops", "loss.mse"], u64::MAX).spawn().expect("snuffer starts");
        // The campaign's files are opened before the canary, which takes seconds.
        while fs::read_dir(store.path().join("campaigns")).map_or(0, Iterator::count) == 0 {
            assert!(hunt.try_wait().expect("a process").is_none(), "the hunt begins");
            std::thread::sleep(Duration::from_millis(5));
        }
        kill_process(Pid::from_child(&hunt), signal).expect("sent");
        // In order it would end with another code.
        assert_eq!(hunt.wait().expect("it ends").code(), Some(expected));
    }
}

#[test]
fn a_signal_after_the_first_case_ends_a_hunt_in_order() {
    let store = tempfile::tempdir().expect("a folder");
    let mut hunt = hunt(store.path(), &["--ops", "loss.mse", "--time", "60s"], u64::MAX).spawn().expect("it starts");
    wait_for_the_first_case(&mut hunt);
    std::thread::sleep(Duration::from_millis(300));
    kill_process(Pid::from_child(&hunt), Signal::TERM).expect("sent");
    assert!(matches!(hunt.wait().expect("it ends").code(), Some(0 | 2)));
    assert!(record(store.path()).next > 0);
}

#[test]
fn a_hunt_under_nohup_goes_on_when_its_terminal_closes() {
    let store = tempfile::tempdir().expect("a folder");
    let hunt = hunt(store.path(), &["--ops", "canary", "--seed", "4"], 500);
    let mut ignoring = Command::new("sh");
    ignoring.args(["-c", "trap '' HUP; exec \"$0\" \"$@\""]).arg(hunt.get_program()).args(hunt.get_args());
    ignoring.env("SNUFFER_FINDINGS", store.path()).env("SNUFFER_DEVICES", "cpu").stdout(Stdio::piped());
    let mut hunt = ignoring.spawn().expect("sh starts");
    wait_for_the_first_case(&mut hunt);
    kill_process(Pid::from_child(&hunt), Signal::HUP).expect("sent");
    let output = hunt.wait_with_output().expect("it ends");
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    assert!(record(store.path()).finished);
}

/// True if a process is running.
fn runs(process: &str) -> bool {
    let status = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // A process that has ended and that nobody waited for is a zombie.
    !status.is_empty() && !status.contains(") Z ")
}

#[test]
fn a_build_of_another_candle_ends_with_the_command() {
    let folder = tempfile::tempdir().expect("a folder");
    let [cargo, started] = ["cargo", "started"].map(|name| folder.path().join(name));
    let script = format!("#!/bin/sh\necho $$ > {}.new; mv {0}.new {0}; exec sleep 600\n", started.display());
    fs::write(&cargo, script).and_then(|()| fs::set_permissions(&cargo, Permissions::from_mode(0o755))).expect("made");
    let mut hunt = hunt(folder.path(), &["--candle", "0.9.0", "--device", "cpu"], 1);
    let mut hunt = hunt.env("CARGO", &cargo).env("CARGO_TARGET_DIR", folder.path()).spawn().expect("snuffer starts");
    while !started.exists() {
        assert!(hunt.try_wait().expect("a process").is_none(), "cargo is started");
        std::thread::sleep(Duration::from_millis(5));
    }
    let process = fs::read_to_string(&started).expect("a number").trim().to_string();
    assert!(runs(&process));
    kill_process(Pid::from_child(&hunt), Signal::TERM).expect("sent");
    assert_eq!(hunt.wait().expect("it ends").code(), Some(143));
    let asked = Instant::now();
    while runs(&process) {
        assert!(asked.elapsed() < Duration::from_secs(60), "cargo goes on");
        std::thread::sleep(Duration::from_millis(5));
    }
}
