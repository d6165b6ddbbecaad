//! A hunt that begins while its CUDA device is being set up.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use snuffer::exec::Build;
use snuffer::exec::environment::executable;
use snuffer::store::Record;

use crate::simulated;

/// A hunt on the devices that are there. Its CUDA worker will be `worker`.
fn hunt(worker: &Path, store: &Path) -> Child {
    Command::new(env!("CARGO_BIN_EXE_snuffer"))
        .args(["hunt", "--while-setting-up", "--ops", "canary", "--seed", "1", "--time", "1s", "--json", "--store"])
        .arg(store)
        .env("SNUFFER_WORKER_CUDA", worker)
        .env_remove("SNUFFER_DEVICES")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("snuffer starts")
}

/// Lets `set_up` happen when the hunt has run cases, and returns what the hunt prints from then on.
fn after(hunt: &mut Child, set_up: impl FnOnce()) -> String {
    let mut lines = BufReader::new(hunt.stdout.take().expect("a pipe")).lines().map_while(Result::ok);
    let progress = lines.find(|line| line.contains("\"event\":\"progress\""));
    assert!(progress.is_some_and(|line| !line.contains("\"cases\":0,")), "no case ran before the set-up ended");
    set_up();
    drop(hunt.stdin.take());
    let rest = lines.collect::<Vec<_>>().join("\n");
    assert!(hunt.wait().expect("the hunt ends").success(), "{rest}");
    rest
}

#[test]
fn a_device_that_is_set_up_meanwhile_joins_the_hunt() {
    let Some(device) = simulated::device() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let (worker, store) = (folder.path().join("worker"), folder.path().join("store"));
    let mut hunt = hunt(&worker, &store);
    let built = executable(device, Build::Checked).expect("built");
    let printed = after(&mut hunt, || symlink(built, &worker).expect("writable"));
    assert!(printed.contains(r#"{"event":"joined","devices":"sim:0"}"#), "{printed}");
    let (_, record) = Record::latest(&store.join("campaigns")).expect("readable").expect("a campaign");
    assert_eq!(record.devices, ["cpu", "sim:0"]);
    let on =
        |device: &str| record.tally.outcomes.iter().filter(|(key, _)| key.starts_with(device)).map(|(_, n)| n).sum();
    let (cpu, sim): (u64, u64) = (on("cpu "), on("sim:0 "));
    assert!(sim > 0 && cpu > sim, "{cpu} cases on cpu, {sim} on sim:0");
}

#[test]
fn a_hunt_goes_on_without_a_device_whose_set_up_failed() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut hunt = hunt(&folder.path().join("worker"), &folder.path().join("store"));
    let printed = after(&mut hunt, || {});
    assert!(printed.contains(r#"{"event":"joined","devices":""}"#), "{printed}");
    assert!(printed.contains(r#"{"event":"finished""#), "{printed}");
}
