//! A hunt that begins while its CUDA device is being set up.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use snuffer::device::Device;
use snuffer::exec::Build;
use snuffer::exec::environment::{executable, has_gpu};
use snuffer::store::Record;

use crate::place;
use crate::plan::{Test, tests};

pub const TESTS: &[Test] = tests![
    Once: a_hunt_goes_on_without_a_device_whose_set_up_failed;
    Simulated: a_device_that_is_set_up_meanwhile_joins_the_hunt
];

/// A hunt on the devices that are there. Its CUDA worker will be `worker`.
fn hunt(worker: &Path, store: &Path) -> Child {
    Command::new(place::snuffer())
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

fn a_device_that_is_set_up_meanwhile_joins_the_hunt(simulated: Device) {
    // A hunt takes the GPU if there is one. Both have the same worker.
    let device = if has_gpu() { Device::Cuda(0) } else { simulated };
    let folder = tempfile::tempdir().expect("a folder");
    let (worker, store) = (folder.path().join("worker"), folder.path().join("store"));
    let mut hunt = hunt(&worker, &store);
    let built = executable(device, Build::Checked).expect("built");
    let printed = after(&mut hunt, || symlink(built, &worker).expect("writable"));
    assert!(printed.contains(&format!(r#"{{"event":"joined","devices":"{device}"}}"#)), "{printed}");
    let (_, record) = Record::latest(&store.join("campaigns")).expect("readable").expect("a campaign");
    assert_eq!(record.devices, ["cpu".to_string(), device.to_string()]);
    let on =
        |device: &str| record.tally.outcomes.iter().filter(|(key, _)| key.starts_with(device)).map(|(_, n)| n).sum();
    let (cpu, cuda): (u64, u64) = (on("cpu "), on(&format!("{device} ")));
    assert!(cuda > 0 && cpu > cuda, "{cpu} cases on cpu, {cuda} on {device}");
}

fn a_hunt_goes_on_without_a_device_whose_set_up_failed() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut hunt = hunt(&folder.path().join("worker"), &folder.path().join("store"));
    let printed = after(&mut hunt, || {});
    assert!(printed.contains(r#"{"event":"joined","devices":""}"#), "{printed}");
    assert!(printed.contains(r#"{"event":"finished""#), "{printed}");
}
