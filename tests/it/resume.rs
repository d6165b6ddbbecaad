//! `snuffer hunt --resume` goes on with a campaign as it was, or says in one line why it cannot.

use std::path::Path;

use snuffer::exec::EditedKernels;
use snuffer::settle::versions;
use snuffer::store::{Log, Record, Store};

use crate::cli::{code, command, snuffer, text};

const NAME: &str = "1700000000-5-1";

/// A store with a campaign on the CPU, changed by `change`.
fn stored(change: impl FnOnce(&mut Record)) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let mut record = Record {
        versions: versions(None),
        seed: 5,
        ops: vec!["loss.mse".into()],
        modes: vec!["valid".into()],
        devices: vec!["cpu".into()],
        ..Record::default()
    };
    change(&mut record);
    log(folder.path()).save(&record).expect("saved");
    folder
}

fn log(store: &Path) -> Log {
    Log::open(&Store::open(store).expect("a store").campaigns(), NAME).expect("a log")
}

fn record(store: &Path) -> Record {
    Record::latest(&store.join("campaigns")).expect("readable").expect("a campaign").1
}

#[test]
fn a_campaign_that_cannot_be_resumed_is_one_line_with_the_command_to_use() {
    type Change = fn(&mut Record);
    let table: [(Change, &str); 6] = [
        (
            |record| record.devices = vec!["cpu".into(), "sim:0".into()],
            "use `snuffer hunt --resume --device cpu,sim:0`",
        ),
        (
            |record| record.versions = "snuffer 0.0.9, candle-core 0.9.2".into(),
            "start a new one with `snuffer hunt --seed 5`",
        ),
        (|record| record.ops.clear(), "does not say what to hunt"),
        (|record| record.modes = vec!["both".into()], "does not say what to hunt"),
        (|record| record.imported = true, "is an import, which cannot be resumed"),
        (
            |record| {
                let files = vec!["sort.cu".into()];
                record.kernels = Some(EditedKernels { files, digest: "0123".into(), ..EditedKernels::default() });
            },
            "the campaign ran with the edited sort.cu of  (digest 0123), but this is with candle's own kernels",
        ),
    ];
    for (change, message) in table {
        let store = stored(change);
        let before = record(store.path());
        // The environment of these tests names the device `cpu`.
        let output = snuffer(store.path(), &["hunt", "--resume", "--cases", "1"]);
        let shown = text(&output.stderr);
        assert!(code(&output) == 1 && shown.contains(message) && shown.lines().count() == 1, "{message}: {shown}");
        assert_eq!(record(store.path()), before);
    }
}

#[test]
fn a_campaign_that_is_running_is_not_resumed_and_another_one_may_begin() {
    let store = stored(|_| {});
    let running = log(store.path());
    let output = snuffer(store.path(), &["hunt", "--resume", "--cases", "1"]);
    let shown = text(&output.stderr);
    assert!(
        code(&output) == 1 && shown.contains(&format!("the campaign {NAME} is running in another process")),
        "{shown}"
    );
    let output = snuffer(store.path(), &["hunt", "--ops", "canary", "--cases", "1", "--seed", "1"]);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    drop(running);
}

#[test]
fn a_resumed_campaign_has_its_own_devices_and_misses_no_case() {
    let store = stored(|_| {});
    for (jobs, next) in [("4", 30), ("3", 60)] {
        let args = ["hunt", "--resume", "--cases", "30", "--jobs", jobs];
        let output = command(store.path(), &args).env_remove("SNUFFER_DEVICES").output().expect("snuffer starts");
        assert!(text(&output.stdout).contains("hunting 1 op on cpu, seed 5"), "{}", text(&output.stderr));
        let record = record(store.path());
        assert_eq!((record.next, record.tally.total.cases, record.devices), (next, next, vec!["cpu".to_string()]));
    }
}

#[test]
fn the_largest_numbers_do_not_overflow() {
    let store = stored(|_| {});
    let most = u64::MAX.to_string();
    let last_shard = format!("{most}/{most}");
    for args in [
        ["hunt", "--resume", "--time", "200ms", "--cases", &most],
        ["hunt", "--ops", "loss.mse", "--time=200ms", "--inject", &most],
        ["hunt", "--ops", "loss.mse", "--time=200ms", "--seed", &most],
        ["hunt", "--ops", "loss.mse", "--time=200ms", "--shard", &last_shard],
    ] {
        let output = snuffer(store.path(), &args);
        let shown = text(&output.stderr);
        assert!([0, 2, 5].contains(&code(&output)) && !shown.contains("panicked"), "{args:?}: {shown}");
    }
    let resumed = snuffer(store.path(), &["hunt", "--resume", "--time", "200ms"]);
    assert!(!text(&resumed.stderr).contains("panicked") && code(&resumed) != 1, "{}", text(&resumed.stderr));
}
