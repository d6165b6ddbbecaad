//! Several machines: shards of a hunt, merged stores, and imported cases of a fuzzer.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use snuffer::hunt::Shard;
use snuffer::oracle::Signature;
use snuffer::store::{Record, Store, Tally};

use crate::finding::finding;

const OPS: &str = "loss.*";

fn snuffer(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_snuffer"));
    command.args(args).env("NO_COLOR", "1").env("SNUFFER_DEVICES", "cpu").current_dir(env!("CARGO_MANIFEST_DIR"));
    command.output().expect("snuffer starts")
}

fn hunt(store: &Path, more: &[&str]) {
    let store = store.to_str().expect("a path");
    let args = ["hunt", "--ops", OPS, "--cases", "2000", "--seed", "5", "--jobs", "1", "--store", store];
    let output = snuffer(&[&args[..], more].concat());
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
}

fn found(store: &Path) -> (BTreeSet<String>, Tally) {
    let store = Store::existing(store).expect("a store");
    let names = store.all().expect("readable").into_iter().map(|(name, _)| name).collect();
    (names, store.tally().expect("readable"))
}

fn signatures(store: &Path) -> Vec<Signature> {
    let findings = Store::existing(store).expect("a store").all().expect("readable").into_iter();
    findings.map(|(_, finding)| finding.expect("readable").signature).collect()
}

#[test]
fn two_shards_merged_equal_one_hunt_of_the_same_seed() {
    let folder = tempfile::tempdir().expect("a folder");
    let [whole, one, two, merged] = ["whole", "one", "two", "merged"].map(|name| folder.path().join(name));
    hunt(&whole, &[]);
    hunt(&one, &["--shard", "1/2"]);
    hunt(&two, &["--shard", "2/2"]);
    let paths = [&one, &two, &merged].map(|path| path.to_str().expect("a path"));
    let output = snuffer(&["merge", paths[0], paths[1], "--into", paths[2]]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let ((expected, counted), (names, sum)) = (found(&whole), found(&merged));
    assert_eq!(sum, counted, "every case ran once, with the same verdict");
    // A shard also minimizes failures that another shard has found, and may find more on the way.
    assert!(names.is_superset(&expected), "lost: {:?}", expected.difference(&names).collect::<Vec<_>>());
    let (_, first) = found(&one);
    assert!(first.total.cases == 1000 && counted.total.cases == 2000);
}

#[test]
fn merging_again_changes_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let [one, merged] = ["one", "merged"].map(|name| folder.path().join(name));
    hunt(&one, &[]);
    let paths = [&one, &merged].map(|path| path.to_str().expect("a path"));
    for _ in 0..2 {
        snuffer(&["merge", paths[0], "--into", paths[1]]);
        assert_eq!(found(&one), found(&merged));
    }
    let missing = snuffer(&["merge", "no-such-store", "--into", paths[1]]);
    assert!(missing.status.code() == Some(1) && !Path::new("no-such-store").exists());
}

#[test]
fn cases_from_a_fuzzer_become_findings() {
    let folder = tempfile::tempdir().expect("a folder");
    let (artifacts, store) = (folder.path().join("artifacts"), folder.path().join("store"));
    fs::create_dir(&artifacts).expect("made");
    // Two files with the same failure, a case that passes, and files that are not cases.
    let regression = fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("corpora/regressions/loss.nll/max-label-accepted/case.toml"),
    )
    .expect("readable");
    for (name, text) in [
        ("crash-1", regression.clone()),
        ("crash-2", regression),
        (
            "passes.toml",
            "op = \"tensor.exp\"\n[inputs.x]\ndtype = \"f32\"\nshape = [1]\n[inputs.x.values]\nlist = [1.0]\n".into(),
        ),
        ("oom-3", "\u{1}\u{2}".to_string()),
        (".lock", String::new()),
    ] {
        fs::write(artifacts.join(name), text).expect("written");
    }
    let paths = [&artifacts, &store].map(|path| path.to_str().expect("a path"));
    let output = snuffer(&["import", paths[0], "--store", paths[1], "--jobs", "1"]);
    let (shown, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(2), "{shown}{stderr}");
    assert!(shown.contains("running 3 cases on cpu"), "{shown}");
    assert!(stderr.contains("oom-3") && !stderr.contains(".lock"), "{stderr}");
    let (names, tally) = found(&store);
    assert_eq!((tally.total.cases, tally.total.passed, tally.total.failed), (3, 1, 2));
    assert!(names.contains("loss.nll--contract--invalid-not-refused--label-out-of-range"), "{names:?}");
    assert!(shown.contains("\n1 finding, all of 1 known cause\n  1 refusal\n"), "{shown}");
    let resumed = snuffer(&["hunt", "--resume", "--store", paths[1]]);
    assert_eq!(resumed.status.code(), Some(1), "an import cannot be resumed");
    assert_eq!(snuffer(&["import", "no-such-folder", "--store", paths[1]]).status.code(), Some(1));
}

#[test]
fn campaigns_are_exported_and_an_empty_store_is_not_a_success() {
    let folder = tempfile::tempdir().expect("a folder");
    let [store, empty] = ["store", "empty"].map(|name| folder.path().join(name));
    hunt(&store, &[]);
    let export = |store: &Path, form: &str| {
        let [store, known] = [store, folder.path()].map(|path| path.to_str().expect("a path"));
        let output = snuffer(&["findings", "--store", store, "--known", known, "export", "--format", form]);
        (output.status.code(), String::from_utf8(output.stdout).expect("text"))
    };
    let (names, tally) = found(&store);

    let (code, sarif) = export(&store, "sarif");
    let sarif: serde_json::Value = serde_json::from_str(&sarif).expect("JSON");
    let run = &sarif["runs"][0];
    let rules: Vec<_> =
        run["tool"]["driver"]["rules"].as_array().expect("rules").iter().map(|rule| &rule["id"]).collect();
    let results = run["results"].as_array().expect("results");
    assert_eq!((code, results.len()), (Some(0), names.len()));
    for result in results {
        assert!(rules.contains(&&result["ruleId"]), "{result}");
        let uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].as_str().expect("a path");
        assert!(uri.starts_with("candle-"), "{uri}");
        let is_refusal = result["ruleId"].as_str().is_some_and(|rule| rule.contains("refused"));
        assert_eq!(result["level"] == "warning", is_refusal, "{result}");
    }

    let (_, junit) = export(&store, "junit");
    let suite = &quick_junit::Report::deserialize_from_str(&junit).expect("JUnit").test_suites[0];
    assert_eq!(suite.tests, tally.ops.len());
    // An op fails by what nothing explains.
    let path = store.to_str().expect("a path");
    let new = snuffer(&["findings", "--store", path, "--known", &folder.path().to_string_lossy(), "list", "--new"]);
    let new = String::from_utf8(new.stdout).expect("text");
    let failing: BTreeSet<&str> =
        new.lines().filter(|line| names.contains(*line)).filter_map(|name| name.split("--").next()).collect();
    assert_eq!(suite.failures, failing.len(), "{new}");

    Store::open(&empty).expect("made");
    assert_eq!(export(&empty, "junit").0, Some(5), "nothing ran");
    let empty = empty.to_str().expect("a path");
    assert_eq!(snuffer(&["findings", "summary", "--store", empty]).status.code(), Some(5), "nothing ran");
}

/// A fake `gh` with one open issue, which has the text `open` and logs its arguments.
fn fake_gh(folder: &Path, open: &str) -> String {
    let script = format!(
        "#!/bin/sh\necho \"$1 $2 $3 $4\" >> {}/calls\nif [ \"$2\" = list ]; then echo '[{{\"number\": 7, \"body\": \"{open}\"}}]'; fi\n",
        folder.display()
    );
    fs::write(folder.join("gh"), script).expect("written");
    fs::set_permissions(folder.join("gh"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("executable");
    format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default())
}

#[test]
fn issues_are_opened_for_new_findings_up_to_a_cap_and_only_with_yes() {
    let folder = tempfile::tempdir().expect("a folder");
    let (store, known) = (folder.path().join("store"), folder.path().join("known"));
    fs::create_dir(&known).expect("made");
    let made = Store::open(&store).expect("a store");
    for site in ["a", "b", "c", "d"] {
        made.insert(&finding(site)).expect("stored");
    }
    let findings = made.readable().expect("readable");
    let open = format!("Replay: save the case above and run `snuffer replay FILE`. Name: `{}`.", findings[0].0);
    let path = fake_gh(folder.path(), &open);
    let issues = |more: &[&str], token: Option<&str>| {
        let [store, known] = [&store, &known].map(|path| path.to_str().expect("a path"));
        let mut command = Command::new(env!("CARGO_BIN_EXE_snuffer"));
        command.args(["findings", "--store", store, "issues", "--known", known, "--cap", "3"]).args(more);
        command.env("PATH", &path).env_remove("GH_TOKEN").envs(token.map(|token| ("GH_TOKEN", token)));
        let output = command.output().expect("snuffer starts");
        (output.status.code(), String::from_utf8(output.stdout).expect("text"))
    };

    let (code, shown) = issues(&[], None);
    assert!(code == Some(0) && shown.contains("nothing was sent"), "{shown}");
    assert_eq!(shown.matches("Replay: save the case above").count(), 3, "each is printed whole: {shown}");
    assert_eq!(shown.lines().filter(|line| line.starts_with("would open: ")).count(), 3, "{shown}");
    assert_eq!(issues(&["--yes", "--repo", "a/b"], None).0, Some(1), "without a token");
    assert!(!folder.path().join("calls").exists(), "gh was not called");

    let (code, shown) = issues(&["--yes", "--repo", "a/b"], Some("secret"));
    assert!(code == Some(0) && shown.contains("comment on #7: "), "{shown}");
    let calls = fs::read_to_string(folder.path().join("calls")).expect("a log");
    let count = |what: &str| calls.lines().filter(|line| line.starts_with(what)).count();
    // One of the three is already open.
    assert_eq!((count("issue list"), count("issue create"), count("issue comment 7")), (1, 2, 1), "{calls}");
}

/// Starts a hunt in `store`, and kills it after its first cases if `kill`. Returns how many cases are done.
fn killed(store: &Path, more: &[&str], kill: bool) -> u64 {
    let done = || {
        let records = fs::read_dir(store.join("campaigns")).into_iter().flatten();
        // A hunt that is killed while writing leaves a temporary file, which is not a record.
        let paths = records.filter_map(|entry| Some(entry.ok()?.path()));
        let paths = paths.filter(|path| path.extension().is_some_and(|extension| extension == "toml"));
        let texts = paths.filter_map(|path| fs::read_to_string(path).ok());
        texts.filter_map(|text| toml::from_str::<Record>(&text).ok()).map(|record| record.next).max().unwrap_or(0)
    };
    let before = done();
    let mut command = Command::new(env!("CARGO_BIN_EXE_snuffer"));
    command.args(["hunt", "--jobs", "1", "--store"]).arg(store).args(more);
    command.env("SNUFFER_DEVICES", "cpu").stdout(Stdio::null()).stderr(Stdio::null());
    let mut hunt = command.spawn().expect("snuffer starts");
    while kill && done() == before && hunt.try_wait().expect("a child").is_none() {
        std::thread::sleep(Duration::from_millis(5));
    }
    if kill {
        hunt.kill().expect("SIGKILL");
    }
    hunt.wait().expect("it ends");
    done()
}

#[test]
fn a_hunt_that_is_killed_three_times_finds_the_same_as_one_without_a_kill() {
    let folder = tempfile::tempdir().expect("a folder");
    let [whole, store] = ["whole", "killed"].map(|name| folder.path().join(name));
    // Enough cases that each part writes its record more than once.
    let cases = 20_000;
    let fresh = ["--ops", OPS, "--seed", "5", "--cases", &cases.to_string()];
    assert_eq!(killed(&whole, &fresh, false), cases);
    let mut done = killed(&store, &fresh, true);
    for kill in [true, true, false] {
        assert!(done < cases, "the hunt was too fast to be killed");
        done = killed(&store, &["--resume"], kill);
    }
    assert_eq!(done, cases);
    let [expected, seen] = [&whole, &store].map(|store| signatures(store));
    // Which of two cases of one failure comes first, a plain one or one with more than it needs, depends on the kills.
    let is_seen = |it: &&Signature| seen.iter().any(|other| other.covers(it) || it.covers(other));
    let lost: Vec<&Signature> = expected.iter().filter(|it| !is_seen(it)).collect();
    assert!(lost.is_empty(), "lost: {lost:?}");
}

#[test]
fn every_index_belongs_to_one_shard() {
    for count in 1..5 {
        for index in 0..20 {
            let owners = (1..=count).filter(|&number| Shard { number, count }.first_index(index) == index).count();
            assert_eq!(owners, 1, "{index} of {count}");
        }
        assert!((1..=count).all(|number| Shard { number, count }.first_index(7) < 7 + count));
    }
}
