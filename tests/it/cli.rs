//! The command line as people and CI see it: what it prints, and the exit codes.

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use clap::CommandFactory;
use snuffer::cli::{Cli, duration};

pub use crate::output::{code, text};

pub fn command(store: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_snuffer"));
    command
        .args(args)
        .env("SNUFFER_FINDINGS", store)
        .env("NO_COLOR", "1")
        .env("SNUFFER_DEVICES", "cpu")
        .current_dir(env!("CARGO_MANIFEST_DIR"));
    command
}

pub fn snuffer(store: &Path, args: &[&str]) -> Output {
    command(store, args).output().expect("snuffer starts")
}

#[test]
fn a_hunt_without_findings_exits_with_0() {
    let store = tempfile::tempdir().expect("a folder");
    let output = snuffer(store.path(), &["hunt", "--ops", "canary", "--cases", "50", "--seed", "1", "--json"]);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    for line in text(&output.stdout).lines() {
        assert!(line.starts_with("{\"") && line.ends_with('}'), "{line}");
    }
}

#[test]
fn every_planted_fault_is_charged_to_the_right_case() {
    let store = tempfile::tempdir().expect("a folder");
    let run = |inject: &str| {
        let args = ["hunt", "--ops", "loss.*", "--cases", "78", "--seed", "4", "--timeout", "2s", "--memory", "1024"];
        snuffer(store.path(), &[&args[..], &["--inject", inject]].concat())
    };
    let shown = text(&run("3").stdout);
    assert_eq!(shown.matches("3 of 3 charged to the right case").count(), 13, "{shown}");
}

#[test]
fn a_killed_hunt_is_resumed_where_it_stopped() {
    let store = tempfile::tempdir().expect("a folder");
    let args = ["hunt", "--ops", "loss.mse", "--time", "60s", "--seed", "9", "--mode", "valid"];
    let mut hunt = Command::new(env!("CARGO_BIN_EXE_snuffer"))
        .args(args)
        .env("SNUFFER_FINDINGS", store.path())
        .env("SNUFFER_DEVICES", "cpu")
        .stdout(Stdio::null())
        .spawn()
        .expect("snuffer starts");
    let record = || {
        let files = std::fs::read_dir(store.path().join("campaigns")).ok()?;
        let path =
            files.filter_map(Result::ok).map(|e| e.path()).find(|p| p.extension().is_some_and(|e| e == "toml"))?;
        let record: snuffer::store::Record = toml::from_str(&std::fs::read_to_string(path).ok()?).ok()?;
        (record.next > 0).then_some(record)
    };
    let before = loop {
        if let Some(record) = record() {
            break record;
        }
        let ended = hunt.try_wait().expect("a process");
        assert!(ended.is_none(), "the hunt ended without a record: {ended:?}");
        std::thread::sleep(Duration::from_millis(50));
    };
    hunt.kill().expect("SIGKILL");
    hunt.wait().expect("dead");
    let cases = (before.next + 10).to_string();
    let output = snuffer(store.path(), &["hunt", "--resume", "--cases", &cases, "--jobs", "1"]);
    let shown = text(&output.stdout);
    assert!(shown.contains("seed 9, from case "), "{shown}{}", text(&output.stderr));
    let after = record().expect("a record");
    assert_eq!((after.next, after.tally.total.cases), (before.next + 10, before.next + 10));
}

#[test]
fn a_user_error_is_one_clear_line_and_exits_with_1() {
    let store = tempfile::tempdir().expect("a folder");
    let case = store.path().join("case.toml");
    let short = "op = 'tensor.exp'\n[inputs.x]\ndtype = 'f32'\nshape = [1]\nvalues.list = [0.5]".to_string();
    let long =
        format!("op = 'tensor.exp'\n[inputs.x]\ndtype = 'f32'\nshape = [5000]\nvalues.list = {:?}", vec![0.5; 5000]);
    for (content, args, message) in [
        ("op = \"no.such\"", vec!["replay", "CASE"], "there is no op `no.such`; "),
        ("op = 3", vec!["replay", "CASE"], "invalid type: integer `3`, expected a string"),
        ("", vec!["replay", "nowhere.toml"], "there is no file `nowhere.toml`, and no finding `nowhere.toml` in "),
        (&short, vec!["replay", "CASE", "--device", "cpu", "--jitter", "1"], "--jitter needs a simulated device"),
        ("", vec!["hunt", "--ops", "zzz*"], "no op matches `zzz*`; `snuffer ops` lists them"),
        ("", vec!["coverage"], "the store has no campaign; name cases to run"),
        ("", vec!["lab", "score", "--device", "cpu"], "score needs exactly one simulated device"),
        ("", vec!["coverage", "--device", "cpu", "corpora/regressions"], "no simulated device executed anything"),
        ("", vec!["hunt", "--resume"], "there is no campaign to resume"),
        ("", vec!["hunt", "--device", "tpu"], "`tpu` is not a device; use `cpu`, `cuda:0` or `sim:0`"),
        ("", vec!["replay", "x", "--fast"], "unexpected argument `--fast` found; see `snuffer replay --help`"),
        ("", vec!["guard", "x", "--ids", "a", "--classes", "5"], "--ids needs --vocabulary"),
        ("", vec!["guard", "x", "--finite", "a"], "there is no file x"),
        ("", vec!["regressions", "tensor.gater"], "nothing matches `tensor.gater`; did you mean `tensor.gather`?"),
        (
            "",
            vec!["hunt", "--time", "soon"],
            "write a time of at most 100 years, such as `90s`, `5m` or `250ms`; see `snuffer hunt --help`",
        ),
        ("", vec!["hunt", "--time", "18000000000000000000s"], "write a time of at most 100 years"),
        ("", vec!["hunt", "--memory", "17592186044416"], "17592186044416 is not in 1..=17592186044415"),
        ("", vec!["hunt", "--jobs", "18446744073709551615"], "is not in 1..=1024"),
        ("", vec!["hunt", "--jobs", "0"], "0 is not in 1..=1024"),
        ("", vec!["replay", "--store", "nowhere", "x"], "there is no file `x`, and there is no store at nowhere"),
        (
            "",
            vec!["findings", "--store", "nowhere", "list"],
            "there is no store at nowhere; `snuffer hunt` creates one",
        ),
        ("", vec!["coverage", "--store", "nowhere"], "there is no store at nowhere; `snuffer hunt` creates one"),
        (&long, vec!["bisect", "CASE"], "cannot be written as a program: `x` has 5000 elements, too many to spell out"),
    ] {
        std::fs::write(&case, content).expect("written");
        let args: Vec<&str> =
            args.iter().map(|arg| if *arg == "CASE" { case.to_str().expect("utf-8") } else { arg }).collect();
        let output = snuffer(store.path(), &args);
        let shown = text(&output.stderr);
        assert_eq!(code(&output), 1, "{args:?}: {shown}");
        assert!(shown.contains(message), "{args:?}: {shown}");
        assert!(!shown.contains("panicked"), "{shown}");
    }
}

#[test]
fn a_closed_output_pipe_ends_snuffer_quietly() {
    let store = tempfile::tempdir().expect("a folder");
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let mut command = command(store.path(), &["ops"]);
    let output = command.stdout(writer).stderr(Stdio::piped()).spawn().and_then(Child::wait_with_output);
    let output = output.expect("snuffer ends");
    assert_eq!((code(&output), text(&output.stderr).as_str()), (141, ""));
}

#[test]
fn a_missing_device_is_the_users_to_provide_and_never_a_pass() {
    let store = tempfile::tempdir().expect("a folder");
    for (variable, value) in [("SNUFFER_WORKER_CUDA", "/nowhere"), ("SNUFFER_SIM_LIBRARY", "/nowhere")] {
        let mut command = command(store.path(), &["hunt", "--device", "sim:0", "--cases", "1"]);
        // The worker is looked up first; any file will do.
        let output = command.env("SNUFFER_WORKER_CUDA", env!("CARGO_BIN_EXE_snuffer")).env(variable, value).output();
        let output = output.expect("snuffer starts");
        assert_eq!(code(&output), 1);
        let shown = text(&output.stderr);
        assert!(
            shown.contains(&format!("{variable} names /nowhere, which is missing or not what it should be")),
            "{shown}"
        );
    }
}

#[test]
fn durations_have_a_unit_or_are_seconds() {
    for (text, millis) in [("5s", 5000), ("500ms", 500), ("300", 300_000), ("1.5", 1500), ("0.5m", 30_000)] {
        assert_eq!(duration(text), Ok(Duration::from_millis(millis)), "{text}");
    }
    for (text, hours) in [("1h", 1), ("90min", 1), ("1h 30m", 1), ("2d", 48)] {
        assert_eq!(duration(text).map(|duration| duration.as_secs() / 3600), Ok(hours), "{text}");
    }
    for text in ["", "soon", "-1s", "5 parsecs", "inf", "nan", "18000000000000000000s", "99999999999999999999999h"] {
        assert!(duration(text).is_err(), "{text}");
    }
}

#[test]
fn the_help_lists_every_command_once_in_a_group() {
    let folder = tempfile::tempdir().expect("a folder");
    let help = text(&command(folder.path(), &["--help"]).output().expect("snuffer starts").stdout);
    for shown in Cli::command().get_subcommands().filter(|it| !it.is_hide_set()) {
        let head = format!("  {} ", shown.get_name());
        assert_eq!(help.lines().filter(|line| line.starts_with(&head)).count(), 1, "{head}: {help}");
    }
    assert!(help.contains("\nFirst steps:\n  demo ") && help.contains("\nOptions:\n"), "{help}");
}

#[test]
fn output_goes_to_a_file_and_a_listing_that_works_ends_with_0() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("listed");
    let path = file.to_str().expect("a path");
    for (args, first) in [
        (&["ops", "--json", "-o", path][..], "{\"name\":\""),
        (&["ops", "--format", "markdown", "--output", path], "# Ops: inputs and params\n"),
        (&["lab", "golden", "check", "--output", path], ""),
        (&["causes", "--kept", "--output", path], "rank "),
    ] {
        let output = snuffer(folder.path(), args);
        assert_eq!(text(&output.stdout), "", "{args:?}");
        assert!([0, 1].contains(&code(&output)), "{args:?}: {}", text(&output.stderr));
        let written = std::fs::read_to_string(&file).expect("written");
        assert!(written.starts_with(first), "{args:?}: {written}");
    }
}

#[test]
fn a_store_that_cannot_be_made_is_a_mistake_of_one_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("file");
    std::fs::write(&file, "").expect("written");
    let store = file.join("store");
    let output = snuffer(&store, &["hunt", "--cases", "1", "--ops", "loss.mse"]);
    let said = text(&output.stderr);
    assert!(code(&output) == 1 && said.lines().count() == 1 && said.contains("--store"), "{said}");
}

#[test]
fn a_wrong_variable_is_named_instead_of_the_option_that_nobody_typed() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = command(folder.path(), &["replay", "x"]).env("SNUFFER_DEVICES", "tpu").output().expect("it starts");
    let said = text(&output.stderr);
    assert!(code(&output) == 1 && said.contains("for the variable SNUFFER_DEVICES: `tpu` is not a device"), "{said}");
}

#[test]
fn a_call_that_candle_rejects_ends_with_6_and_says_what_is_invalid() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("label.toml");
    let new = command(folder.path(), &["new", "loss.cross_entropy", "--inp", "4x10", "--target", "0,3,10,1"]);
    std::fs::write(&file, { new }.output().expect("a case").stdout).expect("written");
    let file = file.to_str().expect("a path");
    for (command_line, expected, is) in [
        (&["replay", file][..], "answer    your call is invalid: label 10 of 10 classes, at [2] of target\n", 6),
        (&["replay", file, "--json"], "\"blame\":\"call\"", 6),
        (&["minimize", file], "there is nothing to minimize: your call is invalid: label 10 of 10 classes", 1),
        (&["import", file], "the call is invalid: label 10 of 10 classes, at [2] of target\n", 0),
    ] {
        let output = command(folder.path(), command_line).output().expect("it starts");
        let said = text(&output.stdout) + &text(&output.stderr);
        assert!(said.contains(expected), "{command_line:?}: {said}");
        assert_eq!(code(&output), is, "{command_line:?}: {said}");
    }
}
