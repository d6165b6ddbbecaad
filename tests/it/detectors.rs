//! `snuffer detectors` on a folder of shell scripts, which report as the simulated device or `compute-sanitizer` does.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use device_record::{Fault, Kind, Record, Severity};
use serde_json::Value;
use tempfile::TempDir;

use crate::cli::{code, command, text};
use crate::json;

/// A program of a folder.
struct Script {
    name: &'static str,
    class: &'static str,
    also: &'static [&'static str],
    /// What it does; `$race` is a record of a race.
    does: &'static str,
}

const REPORTS_A_RACE: &str = "echo \"$race\" >> \"$SNUFFER_SIM_REPORTS\"";

/// Found, and found with a consequence.
const FOUND: [Script; 3] = [
    Script { name: "correct", class: "none", also: &[], does: "exit 0" },
    Script { name: "racy", class: "fence", also: &[], does: REPORTS_A_RACE },
    Script {
        name: "both",
        class: "bounds",
        also: &["race"],
        does: "echo \"$race\" >> \"$SNUFFER_SIM_REPORTS\"; echo \"$bounds\" >> \"$SNUFFER_SIM_REPORTS\"; exit 1",
    },
];
const MISSED: Script = Script { name: "silent", class: "race", also: &[], does: "exit 0" };
const INVENTED: Script = Script { name: "accused", class: "none", also: &[], does: REPORTS_A_RACE };
const SLOW: Script = Script { name: "slow", class: "none", also: &[], does: "sleep 60" };
const BROKEN: Script = Script { name: "broken", class: "bounds", also: &[], does: "echo no device; exit 2" };

fn record(kind: Kind) -> String {
    let fault = Fault::new(kind, "k", "a text");
    serde_json::to_string(&Record { severity: Severity::Report, fault, host: Vec::new() }).expect("plain data")
}

fn script(path: &Path, text: &str) {
    fs::write(path, format!("#!/bin/sh\n{text}\n")).expect("written");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("a program");
}

/// A folder of these programs, with a driver that none of them loads.
fn folder(scripts: &[&Script]) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("libcuda.so.1"), "").expect("written");
    let mut labels = String::new();
    for (number, Script { name, class, also, does }) in scripts.iter().enumerate() {
        let records = format!("race='{}'\nbounds='{}'\n", record(Kind::Race), record(Kind::OutOfBounds));
        script(&folder.path().join(name), &format!("{records}{does}"));
        labels += &format!(
            "[[run]]\ncommand = \"./{name}\"\narguments = [\"a b\"]\nclass = \"{class}\"\nalso = {also:?}\nsize = {}\n",
            number + 2
        );
    }
    fs::write(folder.path().join("labels.toml"), labels).expect("written");
    folder
}

fn detectors(folder: &TempDir, args: &[&str]) -> Command {
    let path = folder.path().to_str().expect("a path of text");
    let mut command = command(folder.path(), &[&["detectors", path, "--timeout", "1s"], args].concat());
    command.env("SNUFFER_SIM_LIBRARY", path);
    command
}

fn measured(folder: &TempDir, args: &[&str]) -> (Output, Vec<Value>) {
    let output = detectors(folder, &[args, &["--json"]].concat()).output().expect("snuffer starts");
    let lines = json::valid("detectors", &text(&output.stdout));
    (output, lines)
}

#[test]
fn all_errors_and_nothing_else_is_clean() {
    let folder = folder(&FOUND.each_ref());
    let (output, lines) = measured(&folder, &[]);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let counted = |row: &Value| [&row["of"], &row["runs"], &row["found"]].map(ToString::to_string).join(" ");
    let rows = |of: &str| lines[0][of].as_array().expect("rows").iter().map(counted).collect::<Vec<_>>();
    assert_eq!(rows("classes"), ["\"none\" 1 0", "\"fence\" 1 1", "\"bounds\" 1 1"]);
    assert_eq!(rows("sizes"), ["\"up to 2\" 1 0", "\"up to 5\" 2 2"]);
    let shown = text(&detectors(&folder, &[]).output().expect("snuffer starts").stdout);
    assert!(shown.contains("| fence | 1 | 1 of 1 | 100.0 % | 0 |"), "{shown}");
    assert!(shown.contains("| race | 2 | 2 | 100.0 % |"), "{shown}");
}

#[test]
fn a_missed_error_and_an_invented_one_are_findings_that_can_be_run_again() {
    let folder = folder(&[&MISSED, &INVENTED, &FOUND[1]]);
    let (output, lines) = measured(&folder, &[]);
    assert_eq!(code(&output), 2, "{}", text(&output.stderr));
    for (list, program, reported) in [("missed", "silent", 0), ("falsely_reported", "accused", 1)] {
        let [wrong] = &lines[0][list].as_array().expect("a list")[..] else { panic!("{list}: {}", lines[0]) };
        assert_eq!(wrong["reported"].as_array().expect("kinds").len(), reported);
        let replay = wrong["replay"].as_str().expect("a command");
        assert!(replay.contains(program) && replay.ends_with("'a b'"), "{replay}");
        let reports = folder.path().join(list);
        let again = Command::new("sh").args(["-c", replay]).env("SNUFFER_SIM_REPORTS", &reports).status();
        assert!(again.expect("a shell").success(), "{replay}");
        assert_eq!(fs::read_to_string(reports).unwrap_or_default().lines().count(), reported);
    }
    assert_eq!(lines[0]["kinds"], serde_json::json!([{ "kind": "race", "reported": 2, "right": 1 }]));
}

#[test]
fn an_error_of_a_class_that_is_known_to_be_missed_is_no_finding() {
    let folder = folder(&[&FOUND[0], &MISSED]);
    for (known, expected) in [("race", 0), ("scope", 2)] {
        let (output, lines) = measured(&folder, &["--known", known]);
        assert_eq!(code(&output), expected, "{}", text(&output.stderr));
        assert_eq!(lines[0]["missed"].as_array().map(Vec::len), Some(1));
    }
}

#[test]
fn a_run_that_proves_nothing_is_counted_nowhere() {
    let folder = folder(&[&SLOW, &BROKEN, &FOUND[0]]);
    let (output, lines) = measured(&folder, &[]);
    assert_eq!(code(&output), 5, "{}", text(&output.stderr));
    let whys: Vec<&str> =
        lines[0]["not_run"].as_array().expect("a list").iter().filter_map(|one| one["why"].as_str()).collect();
    assert_eq!(whys, ["not ended after 1 s", "exit code 2 without a report: no device"]);
    assert_eq!(lines[0]["classes"].as_array().map(Vec::len), Some(1));
    assert_eq!(lines[0]["missed"], serde_json::json!([]));
}

#[test]
fn every_second_run_is_of_each_class() {
    let folder = folder(&[&FOUND[0], &MISSED, &INVENTED]);
    let (output, lines) = measured(&folder, &["--every", "2", "--cost"]);
    assert_eq!(code(&output), 2, "{}", text(&output.stderr));
    let classes = lines[0]["classes"].as_array().expect("rows");
    assert_eq!(classes.iter().map(|row| row["runs"].as_u64()).collect::<Vec<_>>(), [Some(1), Some(1)]);
    assert!(classes.iter().all(|row| row["unchecked_seconds"].as_f64() > Some(0.0)), "{}", lines[0]);
}

#[test]
fn compute_sanitizer_is_measured_on_the_same_runs() {
    let folder = folder(&[&FOUND[0], &FOUND[1], &MISSED]);
    let tool = folder.path().join("compute-sanitizer");
    let texts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sanitizer");
    let options = "--tool --print-limit --launch-timeout --target-processes --demangle --strip-paths --show-backtrace \
                   --destroy-on-device-error --report-api-errors";
    script(
        &tool,
        &format!(
            "case \"$1\" in --help) echo {options}; exit;; esac\n\
             case \"$2 $*\" in racecheck*silent*) cat {0}/racecheck.txt;; memcheck*correct*) cat {0}/h200.txt;; esac",
            texts.display()
        ),
    );
    let output = detectors(&folder, &["--sanitizer", "--json"]).env("SNUFFER_COMPUTE_SANITIZER", &tool).output();
    let output = output.expect("snuffer starts");
    let lines = json::valid("detectors", &text(&output.stdout));
    assert_eq!(code(&output), 2, "{}", text(&output.stderr));
    assert_eq!([&lines[0]["detector"], &lines[1]["detector"]], ["sim", "compute-sanitizer"]);
    let of = |line: &Value, list: &str| {
        let all = line[list].as_array().expect("a list").iter();
        all.map(|one| one["class"].as_str().unwrap_or_default().to_string()).collect::<Vec<_>>()
    };
    assert_eq!([of(&lines[0], "missed"), of(&lines[1], "missed")], [["race"], ["fence"]]);
    assert_eq!(of(&lines[1], "falsely_reported"), ["none"]);
    let shown = detectors(&folder, &["--sanitizer"]).env("SNUFFER_COMPUTE_SANITIZER", &tool).output();
    let shown = text(&shown.expect("snuffer starts").stdout);
    assert!(
        shown.contains("| class | runs | sim: found | recall | false reports | s | compute-sanitizer: found |"),
        "{shown}"
    );
    assert!(shown.contains("| fence | 1 | 1 of 1 | 100.0 % | 0 |"), "{shown}");
}

#[test]
fn a_folder_without_labels_or_with_an_unknown_class_is_a_mistake() {
    let empty = tempfile::tempdir().expect("a folder");
    let strange = folder(&[&Script { name: "x", class: "rare", also: &[], does: "" }]);
    for (folder, says) in [(&empty, "labels.toml: No such file"), (&strange, "unknown variant `rare`")] {
        let output = detectors(folder, &[]).output().expect("snuffer starts");
        assert_eq!(code(&output), 1);
        assert!(text(&output.stderr).contains(says), "{}", text(&output.stderr));
    }
}
