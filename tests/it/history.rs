//! The history of campaigns: first and last sightings, gone signatures, and queries.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use snuffer::store::{Counts, Finding, Log, Record, Store, Tally};

use crate::finding::finding;
use crate::kept::regressions;

/// Noon of the `day`-th of January 2026, in seconds since 1970.
pub fn noon(day: u64) -> u64 {
    1_767_225_600 + (day - 1) * 86_400 + 43_200
}

/// A campaign of one op on `devices`: its failures by signature, out of `cases`.
fn campaign(devices: &str, candle: &str, cases: u64, failures: &[(&str, u64)]) -> Record {
    let failed = failures.iter().map(|(_, cases)| cases).sum();
    let counts = Counts { cases, passed: cases - failed, partly: 0, skipped: 0, failed };
    let by_name = |name: &str| BTreeMap::from([(name.to_string(), counts.clone())]);
    let tally = Tally {
        total: counts.clone(),
        ops: by_name("canary"),
        dtypes: by_name("f32"),
        outcomes: BTreeMap::from([("cpu returned".to_string(), cases)]),
        signatures: failures.iter().map(|(name, cases)| ((*name).to_string(), *cases)).collect(),
        ..Tally::default()
    };
    Record {
        versions: format!("snuffer 0.1.0, candle-core {candle}, candle-nn {candle}"),
        devices: vec![devices.to_string()],
        modes: vec!["valid".to_string()],
        seconds: 10.0,
        finished: true,
        tally,
        ..Record::default()
    }
}

fn keep(store: &Path, day: u64, record: &Record) {
    let campaigns = Store::open(store).expect("a store").campaigns();
    let mut log = Log::open(&campaigns, &format!("{}-1-1", noon(day))).expect("a log");
    log.save(record).expect("saved");
}

pub fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_snuffer"));
    command.arg("history").args(args).env_remove("SNUFFER_FINDINGS").current_dir(env!("CARGO_MANIFEST_DIR"));
    command
}

pub fn ask(args: &[&str]) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = command(args).output().expect("snuffer starts");
    (status.code(), String::from_utf8(stdout).expect("text"), String::from_utf8(stderr).expect("text"))
}

/// The result of a query as JSON.
pub fn answer(args: &[&str]) -> Value {
    let (code, shown, stderr) = ask(&[args, &["--json"]].concat());
    assert_eq!(code, Some(0), "{stderr}");
    serde_json::from_str(&shown).expect("JSON")
}

fn names(answer: &Value) -> Vec<&str> {
    let rows = answer["signatures"].as_array().expect("signatures");
    rows.iter().map(|row| row["signature"].as_str().expect("a name")).collect()
}

const HANG: &str = "canary--contract--hang--here";
const ASSERT: &str = "canary--fault--assert--there";
const LATE: &str = "canary--reference--wrong-value";

/// Two stores: on the first, hangs and asserts on days 1 and 2 with candle 0.10.0; on the second, days 8 and 9 with 0.11.1,
/// hangs go on, asserts are gone, and values are wrong.
pub fn nights(folder: &Path) -> [String; 3] {
    let [one, two, all] = ["one", "two", "all.sqlite"].map(|name| folder.join(name));
    keep(&one, 1, &campaign("cpu", "0.10.0", 1000, &[(HANG, 5), (ASSERT, 10)]));
    keep(&one, 2, &campaign("cpu", "0.10.0", 1000, &[(HANG, 5), (ASSERT, 10)]));
    keep(&two, 8, &campaign("cpu", "0.11.1", 1000, &[(HANG, 5), (LATE, 20)]));
    keep(&two, 9, &campaign("cpu", "0.11.1", 1000, &[(HANG, 5)]));
    Store::open(&two).expect("a store").insert(&finding("here")).expect("stored");
    [one, two, all].map(|path| path.to_str().expect("a path").to_string())
}

#[test]
fn several_stores_give_first_and_last_sightings_and_gone_signatures() {
    let folder = tempfile::tempdir().expect("a folder");
    let [one, two, all] = nights(folder.path());
    let shown = answer(&["--store", &one, "--store", &two, "--history", &all]);
    assert_eq!(names(&shown), [LATE, HANG, ASSERT], "new ones come first");
    let rows = shown["signatures"].as_array().expect("rows");

    let hang = &rows[1];
    assert_eq!(
        (&hang["first_seen"], &hang["last_seen"]),
        (&"2026-01-01 12:00:00".into(), &"2026-01-09 12:00:00".into())
    );
    assert_eq!((&hang["first_candle"], &hang["last_candle"]), (&"0.10.0".into(), &"0.11.1".into()));
    assert_eq!((&hang["first_snuffer"], &hang["first_device"]), (&"0.1.0".into(), &"cpu".into()));
    assert_eq!((&hang["campaigns"], &hang["cases"]), (&4.into(), &20.into()));
    assert_eq!((&hang["is_new"], &hang["is_gone"]), (&false.into(), &false.into()));
    assert_eq!(hang["case"], "x.clone(); x = f32[2] [1.0, 2.0]", "of the finding in the second store");
    assert_eq!(rows[2]["case"], Value::Null, "no store has a finding of it");

    let assert = &rows[2];
    assert_eq!(
        (&assert["is_gone"], &assert["expected_since"]),
        (&true.into(), &20.0.into()),
        "one in a hundred of 2000"
    );
    let missed = (&assert["missed_first"], &assert["missed_last"]);
    assert_eq!(missed, (&"2026-01-08 12:00:00".into(), &"2026-01-09 12:00:00".into()));

    let late = &rows[0];
    assert_eq!((&late["is_new"], &late["expected_before"]), (&true.into(), &40.0.into()));
    assert_eq!(late["is_gone"], true, "20 sightings were expected on day 9");
}

#[test]
fn a_root_cause_is_as_old_as_its_first_signature() {
    let folder = tempfile::tempdir().expect("a folder");
    let [one, two, all] = nights(folder.path());
    let (_, kept) =
        regressions().into_iter().find(|(name, _)| name == "tensor.chunk/zero-chunks-panics").expect("kept");
    let signature = kept.signature.clone().expect("it fails");
    keep(Path::new(&two), 10, &campaign("cpu", "0.11.1", 10, &[(&signature.slug(), 3)]));
    let panics = Finding { signature, case: kept.case, ..finding("here") };
    Store::open(Path::new(&two)).expect("a store").insert(&panics).expect("stored");
    let args = ["--store", &one, "--store", &two, "--history", &all, "--causes"];
    let rows = |args: &[&str]| -> Vec<(String, bool, String, u64)> {
        let shown = answer(args);
        let text = |row: &Value, name: &str| row[name].as_str().expect("text").to_string();
        let row = |row: &Value| {
            let known = row["is_known"].as_bool().expect("a truth");
            (text(row, "name"), known, text(row, "first_seen"), row["cases"].as_u64().expect("a number"))
        };
        shown["causes"].as_array().expect("rows").iter().map(row).collect()
    };
    let new = (
        "Tensor::chunk into 0 parts panics with a division by 0".to_string(),
        true,
        "2026-01-10 12:00:00".to_string(),
        3,
    );
    let old = (HANG.to_string(), false, "2026-01-01 12:00:00".to_string(), 20);
    assert_eq!(rows(&args), [new.clone(), old], "a signature without a known cause has a row of its own");
    assert_eq!(rows(&[&args[..], &["--since", "2026-01-10"]].concat()), [new], "what this night brought");
}

#[test]
fn filters_select_rows() {
    let folder = tempfile::tempdir().expect("a folder");
    let [one, two, all] = nights(folder.path());
    answer(&["--store", &one, "--store", &two, "--history", &all]);
    for (args, expected) in [
        (&["--gone"][..], &[LATE, ASSERT][..]),
        (&["--gone", "--since", "2026-01-09"], &[LATE]),
        (&["--kind", "assert"], &[ASSERT]),
        (&["--kind", "wrong value"], &[LATE]),
        (&["--op", "can*", "--kind", "hang"], &[HANG]),
        (&["--op", "loss.*"], &[]),
        (&["--since", "2026-01-08"], &[LATE]),
        (&["--since", "0d"], &[]),
    ] {
        assert_eq!(names(&answer(&[&["--history", &all], args].concat())), expected, "{args:?}");
    }
    let (_, shown, _) = ask(&["--history", &all, "--gone"]);
    for line in [
        "canary--fault--assert--there",
        "    first seen 2026-01-01 12:00 with candle 0.10.0 on cpu",
        "    last seen 2026-01-02 12:00; 2 campaigns, 20 cases",
        "    gone since 2026-01-08 12:00: 20.0 times expected since it was last seen",
        "2 signatures",
    ] {
        assert!(shown.lines().any(|shown| shown == line), "{line}\n{shown}");
    }
}

#[test]
fn a_signature_is_not_gone_after_other_or_too_few_campaigns() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = folder.path().to_str().expect("a path");
    keep(folder.path(), 1, &campaign("sim:0", "0.11.1", 1000, &[(ASSERT, 10)]));
    keep(folder.path(), 2, &campaign("cpu", "0.11.1", 5000, &[]));
    assert_eq!(names(&answer(&["--store", store, "--gone"])), [""; 0], "another device");
    keep(folder.path(), 3, &campaign("sim:0", "0.11.1", 200, &[]));
    assert_eq!(names(&answer(&["--store", store, "--gone"])), [""; 0], "two times expected");
    keep(folder.path(), 4, &campaign("sim:0", "0.11.1", 200, &[]));
    assert_eq!(names(&answer(&["--store", store, "--gone"])), [ASSERT], "four times expected");
}

#[test]
fn reading_again_adds_nothing_twice_and_follows_changes() {
    let folder = tempfile::tempdir().expect("a folder");
    let [one, two, all] = nights(folder.path());
    let read = ["--store", &one, "--store", &two, "--history", &all, "--campaigns"];
    let first = answer(&read);
    assert_eq!(answer(&read), first);
    // A copy of a campaign is the same campaign; one that made progress replaces its old state.
    let merged = folder.path().join("merged");
    let stores =
        [Store::existing(Path::new(&one)), Store::existing(Path::new(&two))].map(|store| store.expect("a store"));
    for store in &stores {
        Store::open(&merged).expect("a store").merge(store).expect("merged");
    }
    let merged = merged.to_str().expect("a path");
    assert_eq!(answer(&["--store", merged, "--history", &all, "--campaigns"]), first);
    keep(Path::new(&two), 9, &campaign("cpu", "0.11.1", 1500, &[(HANG, 6)]));
    let campaigns = answer(&read);
    let cases = |row: usize| &campaigns["campaigns"][row]["cases"];
    assert_eq!(
        (cases(0), cases(1), campaigns["campaigns"].as_array().map(Vec::len)),
        (&1500.into(), &1000.into(), Some(4))
    );
    assert_eq!((&campaigns["campaigns"][1]["new"], &campaigns["campaigns"][0]["new"]), (&1.into(), &0.into()));
    // It still answers without its stores.
    for store in [&one, &two] {
        fs::remove_dir_all(store).expect("removed");
    }
    assert_eq!(answer(&["--history", &all, "--campaigns"]), campaigns);
}

#[test]
fn sql_queries_change_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let [one, two, all] = nights(folder.path());
    answer(&["--store", &one, "--store", &two, "--history", &all]);
    let sql = |text: &str| ask(&["--history", &all, "--sql", text]);
    let (code, shown, _) = sql("SELECT candle, sum(cases) AS cases FROM campaigns GROUP BY candle");
    assert_eq!((code, shown.as_str()), (Some(0), "candle  cases\n0.10.0   2000\n0.11.1   2000\n"));
    let table =
        answer(&["--history", &all, "--sql", "SELECT device, outcome, sum(cases), NULL, x'0aff' FROM outcomes"]);
    assert_eq!(table["table"]["rows"], serde_json::json!([["cpu", "returned", 4000, null, "0aff"]]));
    for (text, message) in [
        ("SELECT x FROM campaigns", "snuffer: no such column: x, at `x FROM campaigns`\n"),
        ("DELETE FROM campaigns", "snuffer: a query can only read; nothing was changed\n"),
        ("VACUUM INTO 'written.sqlite'", "snuffer: a query can only read; nothing was changed\n"),
        ("ATTACH 'written.sqlite' AS written", "snuffer: a query can only read; nothing was changed\n"),
        ("CREATE TEMP TABLE written (x)", "snuffer: a query can only read; nothing was changed\n"),
        ("PRAGMA journal_mode = WAL", "snuffer: a query can only read; nothing was changed\n"),
        ("SELEC", "snuffer: near \"SELEC\": syntax error, at `SELEC`\n"),
        ("SELECT abs(-9223372036854775808)", "snuffer: integer overflow\n"),
    ] {
        let (code, _, shown) = sql(text);
        assert!(
            code == Some(1) && shown.starts_with(message) && shown.lines().count() == 1,
            "{text}: {code:?} {shown}"
        );
    }
    assert!(
        !Path::new("written.sqlite").exists() && !Path::new(env!("CARGO_MANIFEST_DIR")).join("written.sqlite").exists()
    );
    let columns = answer(&["--history", &all, "--sql", "SELECT name FROM pragma_table_info('skips')"]);
    assert_eq!(columns["table"]["rows"].as_array().map(Vec::len), Some(3));
    assert_eq!(answer(&["--history", &all, "--campaigns"])["campaigns"].as_array().map(Vec::len), Some(4));
}

#[test]
fn records_of_older_builds_are_read_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = folder.path().to_str().expect("a path");
    let mut newer = campaign("cpu", "0.11.1", 30, &[(ASSERT, 5)]);
    newer.devices = vec!["cpu".into(), "sim:0".into()];
    newer.tally.calls = BTreeMap::from([("canary f16 cpu returned".to_string(), 20)]);
    newer.tally.charged =
        BTreeMap::from([(ASSERT.to_string(), BTreeMap::from([("cpu".to_string(), 1), ("sim:0".to_string(), 3)]))]);
    keep(folder.path(), 1, &newer);
    let rows = |sql: &str| answer(&["--store", store, "--sql", sql])["table"]["rows"].clone();
    let outcomes = rows("SELECT op, dtype, device, outcome, cases FROM outcomes");
    assert_eq!(
        outcomes,
        serde_json::json!([["", "", "cpu", "returned", 10], ["canary", "f16", "cpu", "returned", 20]])
    );
    let charged = rows("SELECT device, cases, op, oracle, kind, site FROM signatures");
    let expected = [("cpu", 1), ("cpu, sim:0", 1), ("sim:0", 3)];
    let expected =
        expected.map(|(device, cases)| serde_json::json!([device, cases, "canary", "fault", "assert", "there"]));
    assert_eq!(charged, Value::from(expected.to_vec()), "the device of one case is unknown");
}
