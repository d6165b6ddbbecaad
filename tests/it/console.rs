//! What a person reads: a hunt while it runs and at its end, names of findings, the store, and where to begin.

use std::path::Path;

use snuffer::ops::canary::case;
use snuffer::store::{Finding, Store, id};

use crate::cli::{code, command, snuffer, text};
use crate::finding::finding;

/// A hunt with six findings.
const HUNT: [&str; 9] = ["hunt", "--ops", "op.softmax_last_dim", "--cases", "300", "--seed", "1", "--jobs", "1"];

/// What it says about the worst.
const SENTENCE: &str = "op.softmax_last_dim returns no gradient, without an error";

#[test]
fn what_takes_more_than_ten_seconds_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("case.toml");
    std::fs::write(&path, case("hang").to_text()).expect("written");
    let path = path.to_str().expect("a path");
    // The proof alone runs it three times.
    let output = snuffer(folder.path(), &["minimize", path, "--device", "cpu", "--timeout", "5s", "--time", "1s"]);
    let said = text(&output.stderr);
    assert!(code(&output) == 2 && said.contains("10 s: minimizing\n"), "{said}");
}

#[test]
fn a_hunt_prints_a_line_for_each_cause_that_ends_with_a_replay_and_exits_with_2() {
    let store = tempfile::tempdir().expect("a folder");
    let output = snuffer(store.path(), &HUNT);
    let shown = text(&output.stdout);
    assert_eq!(code(&output), 2, "{shown}{}", text(&output.stderr));
    let lines: Vec<&str> = shown.lines().filter(|line| line.contains(SENTENCE)).collect();
    // Once when it is found, with its cause, and once in the summary.
    assert!(lines.len() == 2 && lines.iter().all(|line| line.starts_with("wrong ")), "{shown}");
    let cause = "        (known: softmax_last_dim, rms_norm, layer_norm and rope\n";
    assert!(shown.contains(&format!("{}\n{cause}", lines[0])), "{shown}");
    assert!(!shown.contains("expected a gradient") && shown.lines().count() <= 70, "{shown}");
    let counts = "\n6 findings, all of 6 known causes\n  2 wrong, 1 crash, 1 refusal, 2 limit\n";
    assert!(shown.contains("300 cases of 1 op on cpu in ") && shown.contains(counts), "{shown}");
    assert!(shown.ends_with("\nexit code 2: findings\n"), "{shown}");
    let (_, id) = lines[1].split_once(" replay ").expect("a command");
    let replayed = snuffer(store.path(), &["replay", id]);
    assert!(code(&replayed) == 2 && text(&replayed.stdout).contains("verdict   FAIL"), "{id}");
    let repeated = snuffer(store.path(), &["replay", id, "--times", "3"]);
    assert!(text(&repeated.stdout).contains("times     3 of 3 identical to the byte"));
    let again = text(&snuffer(store.path(), &HUNT).stdout);
    assert!(!again.contains(SENTENCE) && again.contains("\n0 findings\n"), "{again}");
}

#[test]
fn a_verbose_hunt_has_the_details_and_what_is_known() {
    let store = tempfile::tempdir().expect("a folder");
    let hunt = || text(&snuffer(store.path(), &[&HUNT[..], &["--verbose"]].concat()).stdout);
    let shown = hunt();
    for expected in ["        expected a gradient of x; the store has none\n", "        10 of 10 runs; "] {
        assert!(shown.contains(expected), "{expected} is not in {shown}");
    }
    let ends = "snuffer replay op.softmax_last_dim--gradient--missing";
    assert!(shown.lines().any(|line| line.starts_with("        ") && line.ends_with(ends)), "{shown}");
    let again = hunt();
    let known = again.lines().find(|line| line.starts_with("known ")).expect("a line");
    assert!(known.contains(SENTENCE) && known.contains(" replay "), "{again}");
}

#[test]
fn progress_without_a_terminal_is_a_line_on_standard_error_every_ten_seconds() {
    let store = tempfile::tempdir().expect("a folder");
    let args = ["hunt", "--ops", "tensor.exp", "--mode", "valid", "--time", "12s", "--seed", "1", "--jobs", "1"];
    let output = snuffer(store.path(), &args);
    let (shown, progress) = (text(&output.stdout), text(&output.stderr));
    // On a busy machine the canary takes seconds, too.
    assert!(matches!(progress.lines().count(), 1 | 2) && progress.contains(" s: cpu "), "{progress}");
    assert!(
        progress.contains(" cases, ") && progress.ends_with("/s, 0 findings\n") && !shown.contains(" s: "),
        "{shown}"
    );
}

#[test]
fn a_finding_is_named_by_its_name_its_id_or_a_part_of_its_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::open(folder.path()).expect("a store");
    for site in ["here", "there"] {
        store.insert(&Finding { case: case("panic"), ..finding(site) }).expect("stored");
    }
    let name = "canary--contract--hang--there";
    let file = folder.path().join(name).join("finding.toml");
    let file = file.to_str().expect("a path");
    for typed in [name, &id(name), "there", "hang--there", file] {
        let output = snuffer(folder.path(), &["replay", typed]);
        assert!(code(&output) == 2 && text(&output.stdout).contains("panic"), "{typed}: {}", text(&output.stderr));
    }
    for command in [&["replay"][..], &["minimize"], &["bisect"], &["findings", "show"], &["report"]] {
        for (typed, message) in [("here", "type an id, or more of the name"), ("nowhere", "no finding `nowhere` in ")] {
            let output = snuffer(folder.path(), &[command, &[typed]].concat());
            let shown = text(&output.stderr);
            assert!(
                code(&output) == 1 && shown.contains(message) && shown.lines().count() == 1,
                "{command:?}: {shown}"
            );
        }
    }
}

#[test]
fn the_store_is_named_before_the_command_behind_it_or_at_the_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let panics = Finding { case: case("panic"), ..finding("here") };
    Store::open(folder.path()).and_then(|store| store.insert(&panics)).expect("stored");
    let named = ["--store", folder.path().to_str().expect("a path")];
    // The environment names another store.
    let elsewhere = Path::new("no-such-store");
    for command in [&["findings", "list"][..], &["findings", "show", "here"], &["triage"], &["replay", "here"]] {
        for at in 0..=command.len() {
            let args = [&command[..at], &named, &command[at..]].concat();
            let output = snuffer(elsewhere, &args);
            let shown = text(&output.stdout) + &text(&output.stderr);
            assert!(!shown.contains("no-such-store") && shown.contains("canary"), "{args:?}: {shown}");
        }
    }
    // A history reads several stores.
    let history = folder.path().join("all.sqlite");
    let history = ["--history", history.to_str().expect("a path")];
    let args = [&["history"], &named[..], &named, &history].concat();
    assert_eq!(code(&snuffer(elsewhere, &args)), 0);
    assert_eq!(code(&snuffer(elsewhere, &[&named[..], &["history"]].concat())), 0);
}

#[test]
fn snuffer_alone_says_where_to_begin() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = snuffer(folder.path(), &[]);
    let shown = text(&output.stdout);
    assert!(code(&output) == 0 && shown.lines().count() <= 20, "{shown}");
    for expected in ["snuffer hunt --time 60s", "snuffer --help", "cpu is set up", "docs/first-hunt.md"] {
        assert!(shown.contains(expected), "{expected} is not in {shown}");
    }
    let missing = command(folder.path(), &[]).env("SNUFFER_WORKER_CUDA", "/nowhere").output().expect("snuffer starts");
    assert!(text(&missing.stdout).contains(" is not set up: SNUFFER_WORKER_CUDA names /nowhere"), "{missing:?}");
    assert_eq!(code(&snuffer(folder.path(), &["begin"])), 1, "there is no such command");
}
