//! The summary of a hunt or a store: what nothing explains, the known causes of the rest, and what to do next.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use snuffer::causes::KnownFailures;
use snuffer::device::Device;
use snuffer::ops::canary;
use snuffer::oracle::{OracleName, Rank, Site, Violation};
use snuffer::report::Summary;
use snuffer::store::regression::{Regression, Status};
use snuffer::store::{Counts, Finding, Log, Record, Store, Tally, id};

use crate::finding::finding;

/// A finding of an op, with a case that panics.
fn found(op: &str, oracle: OracleName, kind: &str, site: &str) -> (String, Finding) {
    let kind = kind.into();
    let violation = Violation {
        oracle,
        site: Site::parse(oracle, &kind, site),
        kind,
        device: Device::Cpu,
        also_on: Vec::new(),
        detail: format!("the detail of {op}"),
    };
    let signature = violation.signature(op);
    let finding = Finding { signature, violation, case: canary::case("panic"), ..finding(site) };
    (finding.signature.slug(), finding)
}

/// Findings of every rank: four with one cause, and eleven with others.
fn findings() -> Vec<(String, Finding)> {
    let kernel = "where_f32 (candle-kernels/src/ternary.cu)";
    let ops = ["loss.cross_entropy", "loss.nll", "tensor.gather", "layer.embedding_with_a_long_name"];
    let mut all: Vec<_> = ops.iter().map(|op| found(op, OracleName::Fault, "assert", kernel)).collect();
    let values = ["tensor.sum", "tensor.mean", "tensor.norm", "loss.mse", "loss.huber", "op.softmax", "op.rms_norm"];
    let sites = [
        "",
        "in a view",
        "in reduced precision",
        "of integers",
        "gradient of x",
        "that is not finite",
        "in several rows",
    ];
    let wrong = |(op, site): (&&str, &&str)| found(op, OracleName::Reference, "wrong value", site);
    all.extend(values.iter().zip(&sites).map(wrong));
    all.extend([
        found("tensor.index_select", OracleName::Fault, "illegal address", "affine_f32 (candle-kernels/src/affine.cu)"),
        found("tensor.roll", OracleName::Contract, "invalid not refused", "dim out of range"),
        found("tensor.sort_last_dim", OracleName::Gradient, "not supported", ""),
        found("tensor.cumsum", OracleName::Contract, "panic", "l_out (candle-core/src/conv.rs) in backward"),
    ]);
    all
}

fn record() -> Record {
    let total = Counts { cases: 1200, passed: 900, partly: 80, skipped: 20, failed: 200 };
    let ops = ["tensor.roll", "loss.nll"].map(|op| (op.to_string(), Counts::default()));
    let tally = Tally { total, ops: ops.into(), ..Tally::default() };
    let devices = vec!["cpu".to_string(), "sim:0".to_string()];
    Record { versions: "a test".into(), seed: 7, devices, seconds: 60.0, tally, ..Record::default() }
}

/// A regression that expects `finding`.
fn kept(finding: &Finding, title: &str) -> (String, Regression) {
    (title.to_string(), Regression { title: title.to_string(), ..Regression::of(finding) })
}

#[test]
fn findings_are_grouped_by_cause_and_a_regression_explains_those_like_it() {
    let all = findings();
    let issue = "https://github.com/huggingface/candle/issues/1";
    let (title, assert) = kept(&all[1].1, "nll asserts");
    let filed = Regression { status: Status::Filed, upstream: Some(issue.into()), ..assert };
    // The second has no place in candle: it explains its own finding, and no other.
    let known = KnownFailures::new(vec![(title, filed), kept(&all[4].1, "sum is wrong")]).expect("causes");
    let Summary { found, .. } = Summary::new(&[&record()], &all, &known);
    assert_eq!((found.findings, found.known), (all.len(), 6));
    assert_eq!(found.ranks.values().copied().collect::<Vec<_>>(), [1, 7, 5, 1, 1, 0]);
    let causes: Vec<(&str, usize)> = found.causes.iter().map(|group| (group.cause.as_str(), group.findings)).collect();
    // One has a root cause, whose fix was seen to fix a failure of this name.
    let root = "norm of f16 is infinite above 256 and 0 below 0.00017";
    let function = "in where_f32 (candle-kernels/src/ternary.cu)";
    assert_eq!(causes, [(root, 1), ("sum is wrong", 1), (function, 4)], "the worse first");
    assert_eq!(found.causes[2].upstream.as_deref(), Some(issue));
    assert_eq!(found.sentence("finding"), "15 findings: 9 without a known cause, 6 of 3 known causes");
    assert!(found.shown().all(|item| !item.known), "{:?}", found.worst);
}

#[test]
fn the_worst_are_new_before_known_and_of_different_causes_first() {
    let all = findings();
    let names = |kept: Vec<(String, Regression)>| {
        let known = KnownFailures::new(kept).expect("causes");
        let worst = Summary::new(&[&record()], &all, &known).found.worst;
        worst.into_iter().map(|item| (item.rank, item.name)).collect::<Vec<_>>()
    };
    let worst = names(Vec::new());
    assert_eq!(worst.len(), 10);
    assert!(worst.is_sorted_by_key(|(rank, _)| *rank) && worst[0].1.starts_with("tensor.index_select"), "{worst:?}");
    let asserts = |worst: &[(Rank, String)]| worst.iter().filter(|(_, name)| name.contains("fault--assert")).count();
    assert_eq!(asserts(&worst), 1, "one stands for its cause: {worst:?}");
    let all_but_the_asserts = all[4..].iter().map(|(_, finding)| kept(finding, "kept"));
    let worst = names(all_but_the_asserts.collect());
    assert!(asserts(&worst[..4]) == 4 && worst.len() == 10, "{worst:?}");
}

/// A store with all of [`findings`] and a campaign.
fn stored() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::open(folder.path()).expect("a store");
    for (_, finding) in findings() {
        store.insert(&finding).expect("stored");
    }
    Log::open(&store.campaigns(), "1-7-1").and_then(|mut log| log.save(&record())).expect("saved");
    folder
}

fn command(program: &str, columns: u16) -> Command {
    let mut command = Command::new(program);
    command.current_dir(env!("CARGO_MANIFEST_DIR")).env("COLUMNS", columns.to_string()).env("SNUFFER_DEVICES", "cpu");
    command.env_remove("SNUFFER_FINDINGS").stdin(Stdio::null());
    command
}

fn summary(store: &Path, columns: u16, more: &[&str]) -> String {
    let mut command = command(env!("CARGO_BIN_EXE_snuffer"), columns);
    // A folder without regressions.
    let known = tempfile::tempdir().expect("a folder");
    command.args(["findings", "summary", "--store"]).arg(store).arg("--known").arg(known.path()).args(more);
    let Output { status, stdout, stderr } = command.output().expect("snuffer starts");
    assert_eq!(status.code(), Some(0), "{}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).expect("text")
}

#[test]
fn the_summary_of_a_store_fits_every_terminal() {
    let folder = stored();
    for columns in [60, 80, 120] {
        let shown = summary(folder.path(), columns, &[]);
        let (lines, commands) = shown.split_once("\nnext\n").expect("what to do next");
        assert!(lines.lines().all(|line| line.chars().count() <= columns.into()), "{columns}: {shown}");
        assert!(shown.lines().count() <= 40 && commands.lines().count() == 3, "{shown}");
        assert!(!shown.contains('\u{1b}'), "colours without a terminal: {shown}");
    }
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.add_filter(r"\S*/snuffer ", "snuffer ");
    settings.add_filter(r"--store \S+", "--store STORE");
    settings.bind(|| insta::assert_snapshot!("summary", summary(folder.path(), 80, &[])));
}

#[test]
fn the_next_commands_work_when_pasted() {
    let folder = stored();
    let shown = summary(folder.path(), 80, &[]);
    let (_, commands) = shown.split_once("\nnext\n").expect("what to do next");
    let commands: Vec<&str> = commands.lines().filter_map(|line| line.get(24..)).collect();
    let [replay, triage, report] = commands[..] else { panic!("{shown}") };
    for (typed, expected) in [(replay, "verdict   FAIL canary: panic"), (triage, "\ntensor.index_select--fault--")] {
        let output = command("sh", 80).args(["-c", typed]).output().expect("a shell");
        let stdout = String::from_utf8_lossy(&output.stdout);
        assert!(stdout.contains(expected), "{typed}: {stdout}{}", String::from_utf8_lossy(&output.stderr));
    }
    // It builds a program with candle's kernels.
    let (worst, _) = &findings()[11];
    let store = folder.path().display();
    assert_eq!(report, format!("cargo xtask report -- {} --store {store}", id(worst)));
}

#[test]
fn the_markdown_of_a_summary_has_the_campaigns_and_the_same_findings() {
    let folder = stored();
    let shown = summary(folder.path(), 80, &["--format", "markdown"]);
    for expected in [
        "| hunt, seed 7 | cpu, sim:0 | 1200 | 900 | 80 | 20 | 200 | at the start | 60 |",
        "15 findings: 14 without a known cause, 1 of 1 known cause.",
        "| memory | 1 |\n| wrong | 7 |",
        "| 1 | norm of f16 is infinite above 256 and 0 below 0.00017 |",
        "- **memory** tensor.index_select accesses an illegal address in affine_f32 (affine.cu) (`",
    ] {
        assert!(shown.contains(expected), "{expected} is not in {shown}");
    }
}
