//! Lists: what narrows them down, their order, their last line; and how a thing is named everywhere.

use std::path::Path;
use std::process::Stdio;

use snuffer::device::Device;
use snuffer::ops::canary::case;
use snuffer::oracle::OracleName;
use snuffer::store::{Finding, Store, id};

use crate::cli::{code, command, snuffer, text};
use crate::finding::finding;

/// A store with a crash on the CPU, a wrong value on the simulated device and a refusal on both.
fn stored() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::open(folder.path()).expect("a store");
    for (op, oracle, kind, device) in [
        ("tensor.conv1d", OracleName::Contract, "panic", Device::Cpu),
        ("loss.mse", OracleName::Reference, "wrong value", Device::Sim(0)),
        ("loss.nll", OracleName::Contract, "invalid not refused", Device::Cpu),
    ] {
        let mut found = Finding { case: case("panic"), ..finding("somewhere") };
        (found.violation.oracle, found.violation.kind, found.violation.device) = (oracle, kind.into(), device);
        found.signature = found.violation.signature(op);
        store.insert(&found).expect("stored");
    }
    folder
}

#[test]
fn a_list_of_findings_is_narrowed_down_ordered_and_counted() {
    let store = stored();
    let [wrong, crash, refusal] = ["loss.mse", "tensor.conv1d", "loss.nll"];
    for (args, expected, last) in [
        (vec![], vec![wrong, crash, refusal], "3 findings: 1 wrong, 1 crash, 1 refusal"),
        (vec!["conv1d"], vec![crash], "1 of 3 findings: 1 crash"),
        (vec!["loss.*"], vec![wrong, refusal], "2 of 3 findings: 1 wrong, 1 refusal"),
        (vec!["--ops", "conv1d,nll"], vec![crash, refusal], "2 of 3 findings: 1 crash, 1 refusal"),
        (vec!["--ops", "loss.*"], vec![wrong, refusal], "2 of 3 findings: 1 wrong, 1 refusal"),
        (vec!["--kind", "crash"], vec![crash], "1 of 3 findings: 1 crash"),
        (vec!["--kind", "contract"], vec![crash, refusal], "2 of 3 findings: 1 crash, 1 refusal"),
        (vec!["--kind", "Wrong-Value"], vec![wrong], "1 of 3 findings: 1 wrong"),
        (vec!["--device", "sim:0"], vec![wrong], "1 of 3 findings: 1 wrong"),
        (vec!["--status", "new", "conv1d"], vec![crash], "1 of 3 findings: 1 crash"),
        (vec!["--status", "wontfix"], vec![], "0 of 3 findings"),
        (vec!["nothing-like-it"], vec![], "0 of 3 findings"),
    ] {
        let output = snuffer(store.path(), &[&["findings", "list"], &args[..]].concat());
        let shown = text(&output.stdout);
        let names: Vec<&str> = shown
            .lines()
            .filter(|line| !line.starts_with(' '))
            .filter_map(|line| line.split_once("--"))
            .map(|(op, _)| op)
            .collect();
        assert_eq!((names, shown.lines().last()), (expected.clone(), Some(last)), "{args:?}: {}", text(&output.stderr));
        assert_eq!(code(&output), 0, "{args:?}");
        assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    }
    for (args, message) in [
        (["--kind", "assrt"], "no finding has the kind `assrt`; known kinds: agreement, "),
        (["--status", "done"], "`done` is not a status; use `open`, "),
        (["--device", "gpu"], "`gpu` is not a device"),
    ] {
        let output = snuffer(store.path(), &[&["findings", "list"], &args[..]].concat());
        assert!(code(&output) == 1 && text(&output.stderr).contains(message), "{args:?}: {}", text(&output.stderr));
    }
}

#[test]
fn a_finding_without_another_of_its_cause_is_said_to_be_alone() {
    let store = stored();
    let output = snuffer(store.path(), &["findings", "similar", "conv1d"]);
    let shown = text(&output.stdout);
    assert!(shown.starts_with("no other finding has the likely cause of tensor.conv1d--"), "{shown}");
    assert_eq!(code(&output), 0);
}

#[test]
fn a_list_of_regressions_is_narrowed_down_ordered_and_counted() {
    let store = tempfile::tempdir().expect("a folder");
    let list = |args: &[&str]| {
        let output = snuffer(store.path(), &[&["regressions", "--list"], args].concat());
        assert_eq!(code(&output), 0, "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let memory = list(&["--kind", "memory"]);
    let all = list(&[]);
    assert!(all.starts_with(memory.lines().next().expect("a line")), "the worst come first: {all}");
    assert!(all.lines().last().is_some_and(|line| line.contains(" regressions (")), "{all}");
    assert!(
        list(&["loss.nll"])
            .lines()
            .filter(|line| !line.starts_with(' '))
            .all(|line| line.starts_with("loss.nll") || line.contains(" regressions"))
    );
    assert!(list(&["--status", "open"]).lines().last().is_some_and(|line| line.ends_with(" open)")));
}

#[test]
fn a_finding_is_shown_with_its_status_link_and_command() {
    let store = stored();
    let name = Store::open(store.path()).and_then(|store| store.names()).expect("readable").remove(2);
    let file = store.path().join(&name).join("finding.toml");
    let (file, folder) = (file.to_str().expect("a path"), store.path().join(&name));
    for typed in [&name, &id(&name), "conv1d", file, folder.to_str().expect("a path")] {
        let output = snuffer(store.path(), &["findings", "show", typed]);
        let shown = text(&output.stdout);
        assert_eq!(code(&output), 0, "{typed}: {}", text(&output.stderr));
        for expected in ["\nstatus    new\n", "\nupstream  ", &format!(" replay {}\n", id(&name))] {
            assert!(shown.contains(expected), "{expected} is not in {shown}");
        }
    }
    let mut command = command(store.path(), &["findings", "show", "-"]);
    let input = std::fs::File::open(file).expect("readable");
    let output = command.stdin(Stdio::from(input)).output().expect("snuffer starts");
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let output = snuffer(store.path(), &["findings", "show", "README.md"]);
    assert!(
        code(&output) == 1 && text(&output.stderr).contains("README.md is not a finding: "),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn known_regressions_are_found_from_any_folder() {
    let (store, elsewhere) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let in_folder = |folder: &Path, args: &[&str]| {
        let output = command(store.path(), args).current_dir(folder).output().expect("snuffer starts");
        // The replay fails, as it should.
        assert!([0, 2].contains(&code(&output)), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let list = ["regressions", "--list"];
    assert_eq!(in_folder(elsewhere.path(), &list), in_folder(root, &list));
    assert_eq!(in_folder(&root.join("docs"), &list), in_folder(root, &list));
    let shown = in_folder(elsewhere.path(), &["replay", "loss.nll/max-label-accepted", "--device", "cpu"]);
    assert!(shown.contains("loss::nll"), "{shown}");
    // A decision is kept beside them.
    let found = finding("kept");
    Store::open(store.path()).and_then(|store| store.insert(&found)).expect("stored");
    in_folder(elsewhere.path(), &["findings", "promote", "kept", "--title", "It hangs"]);
    let shown = in_folder(elsewhere.path(), &list);
    assert!(shown.contains("canary/it-hangs\n") && shown.lines().count() == in_folder(root, &list).lines().count() + 2);
    assert!(in_folder(elsewhere.path(), &["findings", "list", "kept"]).contains("open: "));
}

#[test]
fn causes_need_no_file_and_name_what_is_known_upstream() {
    let (store, elsewhere) = (stored(), tempfile::tempdir().expect("a folder"));
    let listed = |more: &[&str]| {
        let output = command(store.path(), &[&["causes"], more].concat()).current_dir(elsewhere.path()).output();
        text(&output.expect("snuffer starts").stdout).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let link = "https://github.com/huggingface/candle/pull/3778 would fix it";
    assert!(listed(&["--all"]).contains(link) && !listed(&[]).contains(link), "{}", listed(&["--all"]));
    assert!(
        listed(&["chunk-into"]).contains("pull/3778 would fix it: Fix Tensor::chunk(0)"),
        "{}",
        listed(&["chunk-into"])
    );
}

#[test]
fn a_gpu_without_a_driver_is_missing_and_not_lost() {
    let store = tempfile::tempdir().expect("a folder");
    for (printed, message) in [
        (
            "error while loading shared libraries: libcuda.so.1: cannot open shared object file",
            "this machine has no CUDA driver",
        ),
        ("cannot open the device cuda:0: DriverError(CUDA_ERROR_NO_DEVICE)", "the CUDA driver finds no GPU"),
    ] {
        let worker = store.path().join("worker");
        std::fs::write(&worker, format!("#!/bin/sh\necho '{printed}' >&2\nexit 1\n")).expect("written");
        std::fs::set_permissions(&worker, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("executable");
        for args in [["hunt", "--device", "cuda:0"], ["regressions", "--device", "cuda:0"]] {
            let output =
                command(store.path(), &args).env("SNUFFER_WORKER_CUDA", &worker).output().expect("snuffer starts");
            let shown = text(&output.stderr);
            assert_eq!((code(&output), shown.lines().count()), (1, 1), "{shown}");
            assert!(shown.contains("cuda:0 cannot be opened: ") && shown.contains(message), "{shown}");
        }
    }
}

#[test]
fn help_fits_80_columns() {
    use clap::CommandFactory;
    fn check(command: &mut clap::Command, checked: &mut usize) {
        let shown = command.render_long_help().to_string();
        for line in shown.lines() {
            assert!(line.chars().count() <= 80, "{}: {line}", command.get_name());
        }
        *checked += 1;
        command.get_subcommands_mut().for_each(|command| check(command, checked));
    }
    let (mut root, mut checked) = (snuffer::cli::Cli::command(), 0);
    root.build();
    check(&mut root, &mut checked);
    assert!(checked > 25, "only {checked} commands");
}

#[test]
fn shells_complete_every_command_and_each_has_a_man_page() {
    use clap::CommandFactory;
    let folder = tempfile::tempdir().expect("a folder");
    let root = snuffer::cli::Cli::command();
    let shown = root.get_subcommands().filter(|command| !command.is_hide_set());
    let names: Vec<&str> = shown.map(clap::Command::get_name).collect();
    for shell in ["bash", "zsh", "fish"] {
        let script = text(&snuffer(folder.path(), &["completions", shell]).stdout);
        for name in &names {
            assert!(script.contains(name), "{shell}: {name}");
        }
    }
    let pages = folder.path().join("man/man1");
    let output = snuffer(folder.path(), &["man", pages.to_str().expect("a path")]);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    for name in &names {
        let page = std::fs::read_to_string(pages.join(format!("snuffer-{name}.1"))).expect(name);
        assert!(page.contains(".TH"), "{name}: {page}");
    }
}
