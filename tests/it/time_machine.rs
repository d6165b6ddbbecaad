//! docs/time-machine.md: its tables come from docs/time-machine.toml, and each case that it names is kept.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

use serde::Deserialize;
use snuffer::case::Case;
use snuffer::investigate::RELEASES;
use snuffer::ops;

/// The lines around the tables.
const START: &str = "<!-- The tables: UPDATE_DOCS=1 cargo test --test it time_machine -->\n";
const END: &str = "<!-- The end of the tables -->\n";

/// The folder of the cases, for the document.
const CASES: &str = "corpora/time-machine";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Data {
    /// Two neighbouring releases each, the oldest first.
    pair: Vec<Pair>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Pair {
    base: String,
    head: String,
    run: Option<Run>,
    #[serde(default)]
    change: Vec<Change>,
}

/// What the comparison of a pair ran and found.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Run {
    cases: u64,
    seconds: u64,
    ops: usize,
    reports: usize,
    regressions: usize,
}

impl Run {
    fn row(&self) -> String {
        let Self { cases, seconds, ops, reports, regressions } = self;
        format!("{cases} | {ops} | {seconds} | {reports} | {regressions}")
    }
}

/// What changed in candle, in its sources or as a comparison reports it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Change {
    what: String,
    /// The file of candle, and the function.
    place: String,
    kind: Kind,
    /// How many differences the comparison reports of it.
    #[serde(default)]
    reports: usize,
    /// The first of them.
    seen: Option<Seen>,
    /// Why the comparison does not report it.
    missed: Option<Missed>,
    /// More on that.
    because: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    Fix,
    Regression,
    Other,
}

/// A difference as the comparison reports it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Seen {
    class: String,
    says: String,
    after_cases: u64,
    /// A file of the folder of cases.
    case: String,
}

/// Why a comparison on the CPU does not report a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Missed {
    Cuda,
    Quantized,
    Files,
    Speed,
    Message,
    NoOp,
    LeftOut,
    NotDrawn,
}

impl Missed {
    /// The reason in words.
    fn words(self) -> &'static str {
        match self {
            Self::Cuda => "the CUDA backend alone",
            Self::Quantized => "quantized tensors, which no op takes",
            Self::Files => "files, which no op reads",
            Self::Speed => "the time that a call takes alone",
            Self::Message => "the words of an error alone",
            Self::NoOp => "no op makes such a call",
            Self::LeftOut => "the op is left out: one of both lacks what its file calls",
            Self::NotDrawn => "no drawn case shows it",
        }
    }

    /// Whether a call of candle's CPU backend on tensors shows the change.
    fn is_of_a_call_on_the_cpu(self) -> bool {
        matches!(self, Self::NoOp | Self::LeftOut | Self::NotDrawn)
    }
}

fn path(inside: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(inside)
}

fn read(inside: &str) -> String {
    std::fs::read_to_string(path(inside)).unwrap_or_else(|error| panic!("{inside}: {error}"))
}

fn data() -> Data {
    toml::from_str(&read("docs/time-machine.toml")).expect("docs/time-machine.toml")
}

#[test]
fn the_tables_of_the_time_machine_are_up_to_date() {
    let file = "docs/time-machine.md";
    let text = read(file);
    let (before, rest) = text.split_once(START).expect("the start of the tables");
    let (_, after) = rest.split_once(END).expect("the end of the tables");
    let expected = format!("{before}{START}\n{}\n{END}{after}", tables(&data()));
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path(file), &expected).expect("writable");
    }
    assert!(read(file) == expected, "{file} is stale: UPDATE_DOCS=1 cargo test --test it time_machine");
}

#[test]
fn each_change_between_releases_is_seen_or_has_a_reason() {
    let data = data();
    let pairs: Vec<[&str; 2]> = data.pair.iter().map(|pair| [pair.base.as_str(), pair.head.as_str()]).collect();
    let neighbours: Vec<[&str; 2]> = RELEASES.windows(2).map(|pair| [pair[0], pair[1]]).collect();
    assert_eq!(pairs, neighbours);
    for pair in &data.pair {
        let cases = pair.run.as_ref().map_or(0, |run| run.cases);
        for change in &pair.change {
            assert!(change.seen.is_some() != change.missed.is_some(), "{}: seen or missed", change.what);
            assert_eq!(change.seen.is_some(), change.reports > 0, "{}: reports", change.what);
            assert!(change.seen.as_ref().is_none_or(|seen| seen.after_cases <= cases), "{}: cases", change.what);
        }
        let reports: usize = pair.change.iter().map(|change| change.reports).sum();
        let found = pair.run.as_ref().map_or(0, |run| run.reports);
        assert_eq!(reports, found, "each report of {} to {} has its change", pair.base, pair.head);
    }
}

#[test]
fn each_case_of_the_time_machine_is_accepted_by_its_op_and_named_once() {
    let data = data();
    let seen = data.pair.iter().flat_map(|pair| &pair.change).filter_map(|change| change.seen.as_ref());
    let named: Vec<&str> = seen.map(|seen| seen.case.as_str()).collect();
    let files = std::fs::read_dir(path(CASES)).expect("the folder of cases");
    let files: BTreeSet<String> =
        files.map(|file| file.expect("readable").file_name().to_string_lossy().into_owned()).collect();
    assert_eq!(named.iter().map(ToString::to_string).collect::<BTreeSet<_>>(), files);
    assert_eq!(named.len(), files.len(), "a case is named twice");
    for name in files {
        let case = Case::parse(&read(&format!("{CASES}/{name}"))).unwrap_or_else(|error| panic!("{name}: {error}"));
        let op = ops::find(&case.op).unwrap_or_else(|| panic!("{name}: no op {}", case.op));
        op.check(&case).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

fn tables(data: &Data) -> String {
    let mut text = totals(data);
    text += "\n## What was run\n\n| releases | cases | ops | seconds | differences | regressions that turned |\n|---|---|---|---|---|---|\n";
    for Pair { base, head, run, .. } in &data.pair {
        let row = run.as_ref().map_or_else(|| "not run | | | | ".to_string(), Run::row);
        writeln!(text, "| {base} to {head} | {row} |").expect("text");
    }
    for pair in &data.pair {
        write!(text, "\n## {} to {}\n\n", pair.base, pair.head).expect("text");
        if pair.change.is_empty() {
            text += "No function that both have behaves differently.\n";
            continue;
        }
        text += "| what changed | where | | seen as | reports | after cases | case |\n|---|---|---|---|---|---|---|\n";
        pair.change.iter().for_each(|change| text += &row(change));
    }
    text
}

fn row(change: &Change) -> String {
    let kind = match change.kind {
        Kind::Fix => "fix",
        Kind::Regression => "**regression**",
        Kind::Other => "other",
    };
    let because = change.because.as_ref().map_or_else(String::new, |because| format!(": {because}"));
    let rest = match (&change.seen, change.missed) {
        (Some(Seen { class, says, after_cases, case }), _) => {
            let file = format!("[case](../{CASES}/{case})");
            format!("{class}: {says}{because} | {} | {after_cases} | {file}", change.reports)
        }
        (None, missed) => format!("not seen: {}{because} | | | ", missed.map_or("", Missed::words)),
    };
    format!("| {} | {} | {kind} | {rest} |\n", change.what, change.place)
}

/// How many changes of each kind were seen, and why the others were not.
fn totals(data: &Data) -> String {
    let changes = || data.pair.iter().flat_map(|pair| &pair.change);
    let is_on_cpu = |change: &&Change| change.missed.is_none_or(Missed::is_of_a_call_on_the_cpu);
    let mut text = "| | all | of calls on the CPU | of these seen | |\n|---|---|---|---|---|\n".to_string();
    for (kind, name) in [(Kind::Fix, "fixes"), (Kind::Regression, "regressions"), (Kind::Other, "other changes")] {
        let of_kind = || changes().filter(move |change| change.kind == kind);
        let (all, on_cpu) = (of_kind().count(), of_kind().filter(is_on_cpu).count());
        let seen = of_kind().filter(|change| change.seen.is_some()).count();
        let percent = 100 * seen / on_cpu.max(1);
        writeln!(text, "| {name} | {all} | {on_cpu} | {seen} | {percent} % |").expect("text");
    }
    text += "\n| not seen, because | fixes | regressions | other |\n|---|---|---|---|\n";
    let reasons = [
        Missed::NotDrawn,
        Missed::LeftOut,
        Missed::NoOp,
        Missed::Message,
        Missed::Speed,
        Missed::Files,
        Missed::Quantized,
        Missed::Cuda,
    ];
    for reason in reasons {
        let count = |kind| changes().filter(|it| it.missed == Some(reason) && it.kind == kind).count();
        let counts = [Kind::Fix, Kind::Regression, Kind::Other].map(count);
        if counts.iter().sum::<usize>() > 0 {
            let [fixes, regressions, others] = counts;
            writeln!(text, "| {} | {fixes} | {regressions} | {others} |", reason.words()).expect("text");
        }
    }
    text
}
