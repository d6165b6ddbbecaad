//! `snuffer hunt --resume` goes on with a campaign as it was, or says in one line why it cannot.

use std::fs;
use std::path::Path;
use std::time::Duration;

use rand_core::Rng;
use rand_pcg::Pcg32;
use snuffer::exec::EditedKernels;
use snuffer::settle::versions;
use snuffer::store::{Limit, Log, Record, Store};

use crate::cli::{code, command, snuffer, text};
use crate::interrupts::{hunt, wait_for_the_first_case};

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
        let cases = next.to_string();
        let args = ["hunt", "--resume", "--cases", &cases, "--jobs", jobs];
        let output = command(store.path(), &args).env_remove("SNUFFER_DEVICES").output().expect("snuffer starts");
        assert!(text(&output.stdout).contains("hunting 1 op on cpu, seed 5"), "{}", text(&output.stderr));
        let record = record(store.path());
        assert_eq!((record.next, record.tally.total.cases, record.devices), (next, next, vec!["cpu".to_string()]));
    }
}

#[test]
fn a_resumed_campaign_ends_where_it_would_have_and_not_again() {
    let store = stored(|record| {
        record.limit = Limit { cases: Some(40), seconds: Some(60.0) };
        record.seconds = 1.0;
    });
    let output = snuffer(store.path(), &["hunt", "--resume"]);
    let ended = record(store.path());
    assert_eq!((ended.next, ended.finished), (40, true), "{}", text(&output.stderr));
    let again = snuffer(store.path(), &["hunt", "--resume"]);
    let shown = text(&again.stderr);
    assert!(code(&again) == 1 && shown.contains("has run to its end") && shown.lines().count() == 1, "{shown}");
    let more = snuffer(store.path(), &["hunt", "--resume", "--time", "100ms"]);
    assert!(record(store.path()).next > 40, "{}", text(&more.stderr));
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

fn failures(store: &Path) -> Vec<String> {
    let folder = Store::existing(store).expect("a store").campaigns();
    let files = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let mut lists = files.filter(|path| path.extension().is_some_and(|it| it == "jsonl"));
    let list = lists.next().expect("a list");
    fs::read_to_string(list).expect("readable").lines().map(str::to_string).collect()
}

#[test]
fn a_hunt_that_is_killed_at_any_moment_and_resumed_runs_each_case_once() {
    const CASES: u64 = 2000;
    let folder = tempfile::tempdir().expect("a folder");
    let [killed, whole] = ["killed", "whole"].map(|name| folder.path().join(name));
    let first = ["--ops", "loss.nll", "--seed", "5"];
    hunt(&whole, &first, CASES).output().expect("snuffer starts");
    let mut random = Pcg32::new(7, 7);
    let mut more: &[&str] = &first;
    for _ in 0..4 {
        let mut hunt = hunt(&killed, more, CASES).spawn().expect("snuffer starts");
        wait_for_the_first_case(&mut hunt);
        std::thread::sleep(Duration::from_millis(u64::from(random.next_u32() % 400)));
        hunt.kill().expect("SIGKILL");
        hunt.wait().expect("dead");
        more = &["--resume"];
    }
    assert!(record(&killed).next < CASES, "the last kill came before the end");
    hunt(&killed, more, CASES).output().expect("snuffer starts");
    let (killed, whole) = ((record(&killed), failures(&killed)), (record(&whole), failures(&whole)));
    assert_eq!(killed.0.tally, whole.0.tally);
    assert_eq!(killed.1, whole.1);
    assert!(whole.0.tally.total.failed > 0 && killed.0.next == CASES);
}

#[test]
fn a_resumed_campaign_is_named_and_so_is_a_later_one_that_ended_before_its_first_case() {
    let store = tempfile::tempdir().expect("a folder");
    let (store, args) = (store.path(), ["hunt", "--resume", "--cases", "1"]);
    snuffer(store, &["hunt", "--ops", "loss.mse", "--cases", "1", "--seed", "1"]);
    let name = Record::latest(&store.join("campaigns")).expect("readable").expect("a campaign").0;
    let resumed = text(&snuffer(store, &args).stderr);
    assert!(resumed.contains(&format!("resuming  the campaign {name}\n")), "{resumed}");
    fs::write(store.join("campaigns/99999999999-2-1.failures.jsonl"), "").expect("written");
    let resumed = text(&snuffer(store, &args).stderr);
    assert!(resumed.contains(&format!("the campaign {name}; 99999999999-2-1 began later")), "{resumed}");
}
