//! Hunts and replays under a stand-in for `compute-sanitizer` (`tests/sanitizer/compute-sanitizer`).

use std::path::{Path, PathBuf};
use std::process::Command;

use snuffer::device::Device;
use snuffer::exec::Sanitizer;
use snuffer::store::Store;

use crate::machine::stand_in;
use crate::place;
use crate::plan::{Test, tests};

pub const TESTS: &[Test] = tests![
    Once: the_doctor_looks_for_the_tool;
    Simulated: a_hunt_charges_a_late_report_to_its_case_and_replays_it,
    a_report_that_the_case_alone_does_not_show_is_flaky,
    every_tool_marks_the_end_of_a_case,
    a_report_is_whole_although_the_tool_prints_on,
    a_tool_that_cannot_be_used_is_one_line_with_what_to_do
];

/// The stand-in tool.
fn stand_in_tool() -> PathBuf {
    place::root().join("tests/sanitizer/compute-sanitizer")
}

/// `snuffer` on a machine whose driver is the simulated one, with the stand-in tool.
fn snuffer(args: &[&str], variables: &[(&str, &str)]) -> (Option<i32>, String) {
    let mut command = Command::new(place::snuffer());
    command.args(args).envs(stand_in()).env("NO_COLOR", "1");
    command.env("SNUFFER_COMPUTE_SANITIZER", stand_in_tool()).envs(variables.iter().copied());
    let output = command.current_dir(place::root()).output().expect("snuffer starts");
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    (output.status.code(), text.concat())
}

/// A file with a report of a race in the kernel of `exp`, as racecheck prints it.
fn race(folder: &Path) -> String {
    let path = folder.join("race");
    let source = "/home/user/registry/candle-kernels-0.11.1/src/unary.cu";
    let text = format!(
        "========= Error: Race reported between Write access at uexp_f32+0x90 in {source}:61\n\
         =========     and Read access at uexp_f32+0x100 in {source}:61 [508 hazards]\n=========\n"
    );
    std::fs::write(&path, text).expect("written");
    format!("uexp_={}", path.display())
}

/// The names of the findings in a store.
fn names(store: &str) -> Vec<String> {
    let store = Store::existing(Path::new(store)).expect("a store");
    store.all().expect("readable").into_iter().map(|(name, _)| name).collect()
}

const HUNT: [&str; 15] = [
    "hunt",
    "--device",
    "cuda:0",
    "--sanitizer",
    "racecheck",
    "--ops",
    "tensor.exp,tensor.sin",
    "--mode",
    "valid",
    "--cases",
    "12",
    "--seed",
    "1",
    "--jobs",
    "1",
];

fn a_hunt_charges_a_late_report_to_its_case_and_replays_it(_: Device) {
    let folder = tempfile::tempdir().expect("a folder");
    let (store, reports) = (folder.path().join("store"), race(folder.path()));
    let store = store.to_str().expect("a path");
    let variables = [("FAKE_REPORTS", reports.as_str()), ("FAKE_DELAY", "0.02")];
    let args = [&HUNT[..], &["--minimize", "2s", "--store", store]].concat();
    let (code, shown) = snuffer(&args, &variables);
    assert_eq!(code, Some(2), "{shown}");
    let found = names(store);
    assert!(found.len() == 1 && found[0].starts_with("tensor.exp--checker--race--"), "{found:?}\n{shown}");
    assert!(found[0].ends_with("unary.cu"), "{found:?}\n{shown}");
    let (_, listed) = snuffer(&["findings", "--store", store, "show", &found[0]], &[]);
    assert!(listed.contains("under     racecheck: replay it with `--sanitizer racecheck`"), "{listed}");
    let replay = ["replay", "tensor.exp--checker", "--store", store, "--device", "cuda:0"];
    let under = [&replay[..], &["--sanitizer", "racecheck"]].concat();
    let (code, shown) = snuffer(&under, &variables);
    assert!(code == Some(2) && shown.contains("Race reported between Write access at uexp_f32"), "{shown}");
    let (code, shown) = snuffer(&replay, &variables);
    assert!(code == Some(0), "without the tool: {shown}");
}

fn a_report_that_the_case_alone_does_not_show_is_flaky(_: Device) {
    let folder = tempfile::tempdir().expect("a folder");
    let (store, once, reports) = (folder.path().join("store"), folder.path().join("once"), race(folder.path()));
    let [store, once] = [&store, &once].map(|path| path.to_str().expect("a path"));
    let args = [&HUNT[..], &["--minimize", "2s", "--verbose", "--store", store]].concat();
    let (_, shown) = snuffer(&args, &[("FAKE_REPORTS", &reports), ("FAKE_ONCE", once)]);
    assert!(shown.contains("flaky   tensor.exp has a data race between threads"), "{shown}");
    assert_eq!(names(store), [""; 0], "{shown}");
}

fn every_tool_marks_the_end_of_a_case(_: Device) {
    let folder = tempfile::tempdir().expect("a folder");
    let case = folder.path().join("case.toml");
    let text = "op = \"tensor.exp\"\n[inputs.x]\ndtype = \"f32\"\nshape = [1]\nvalues = { list = [1.0] }\n";
    std::fs::write(&case, text).expect("written");
    let case = case.to_str().expect("a path");
    for tool in Sanitizer::ALL {
        let args = ["replay", case, "--device", "cuda:0", "--sanitizer", tool.name()];
        let (code, shown) = snuffer(&args, &[]);
        assert!(code == Some(0) && shown.contains("verdict   pass"), "{tool}: {shown}");
    }
    // A tool that reports nothing proves nothing.
    let args = ["replay", case, "--device", "cuda:0", "--sanitizer", "racecheck"];
    let (code, shown) = snuffer(&args, &[("FAKE_SILENT", "1")]);
    assert!(code == Some(4) && shown.contains("did not report the fault that is planted after each case"), "{shown}");
}

fn a_report_is_whole_although_the_tool_prints_on(_: Device) {
    let folder = tempfile::tempdir().expect("a folder");
    let store = folder.path().join("store");
    let args = [&HUNT[..], &["--store", store.to_str().expect("a path")]].concat();
    let (code, shown) = snuffer(&args, &[("FAKE_CHATTER", "200")]);
    assert_eq!(code, Some(0), "{shown}");
}

fn a_tool_that_cannot_be_used_is_one_line_with_what_to_do(_: Device) {
    let case = "corpora/regressions/loss.nll/max-label-accepted/case.toml";
    let nothing = tempfile::tempdir().expect("a folder");
    let nothing = nothing.path().to_str().expect("a path");
    let missing = ("SNUFFER_COMPUTE_SANITIZER", "no-such-file");
    let nowhere = [("PATH", nothing), ("CUDA_HOME", nothing)];
    for (device, variables, removed, said) in [
        ("cuda:0", vec![missing], false, "SNUFFER_COMPUTE_SANITIZER names no-such-file"),
        ("cuda:0", nowhere.to_vec(), true, "compute-sanitizer is missing; install it"),
        ("cuda:0", vec![("FAKE_WITHOUT", "--strip-paths")], false, "has no option `--strip-paths`: it is too old"),
        ("cpu", vec![], false, "--sanitizer memcheck needs a GPU"),
        ("sim:0", vec![], false, "a simulated device needs no --sanitizer"),
    ] {
        for subcommand in [&["replay", case][..], &["hunt", "--store", nothing, "--cases", "1"]] {
            let mut command = Command::new(place::snuffer());
            command.args(subcommand).args(["--device", device, "--sanitizer", "memcheck"]);
            command.env("SNUFFER_COMPUTE_SANITIZER", stand_in_tool()).envs(variables.iter().copied());
            if removed {
                command.env_remove("SNUFFER_COMPUTE_SANITIZER");
            }
            let output = command.current_dir(place::root()).output().expect("snuffer starts");
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(1), "{subcommand:?} {stderr}");
            assert!(stderr.contains(said) && stderr.trim().lines().count() == 1, "{said} in {stderr}");
        }
    }
}

fn the_doctor_looks_for_the_tool() {
    let list: toml::Table = include_str!("../../src/cli/doctor/tools.toml").parse().expect("TOML");
    let tools = list["tool"].as_array().expect("tools");
    let tool = tools.iter().find(|tool| tool["name"].as_str() == Some("compute-sanitizer")).expect("listed");
    let probe = |path: &str| {
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(tool["probe"].as_str().expect("a command")).env("SNUFFER_COMPUTE_SANITIZER", path);
        let output = shell.output().expect("a shell");
        (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (there, shown) = probe(stand_in_tool().to_str().expect("a path"));
    assert!(there && shown.contains("Version 2026.4.0.0"), "{shown}");
    assert!(!probe("no-such-file").0);
    assert!(!Sanitizer::ALL.iter().any(|tool| Sanitizer::of(Device::Sim(0), Some(*tool)).is_some()));
}
