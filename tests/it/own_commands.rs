//! The command line over ops that a program defines: `snuffer::main!`, as the example `own_ops` calls it.

use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::LazyLock;

use crate::output::{code, text};
use crate::place;

/// The example, built as the tests were.
static PROGRAM: LazyLock<PathBuf> = LazyLock::new(|| {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--locked", "--example", "own_ops"]).current_dir(place::root());
    assert!(cargo.status().expect("Cargo starts").success(), "the example builds");
    let tests = std::env::current_exe().expect("a path");
    tests.ancestors().nth(2).expect("a folder of the profile").join("examples/own_ops")
});

/// All that a command printed.
fn said(output: &Output) -> String {
    text(&output.stdout) + &text(&output.stderr)
}

/// A store with the findings of a hunt, and what the hunt printed.
struct Hunted {
    folder: tempfile::TempDir,
    printed: String,
}

impl Hunted {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut hunted = Self { folder, printed: String::new() };
        let output = hunted.run(&["hunt", "--cases", "2000", "--seed", "1", "--jobs", "1"]);
        assert_eq!(code(&output), 2, "{}", said(&output));
        hunted.printed = said(&output);
        hunted
    }

    fn run(&self, args: &[&str]) -> Output {
        let mut command = Command::new(&*PROGRAM);
        command.args(args).arg("--store").arg(self.folder.path().join("findings")).current_dir(self.folder.path());
        command.output().expect("the example starts")
    }

    /// The output of a command, which ends with this code.
    fn says(&self, args: &[&str], expected: i32) -> String {
        let output = self.run(args);
        assert_eq!(code(&output), expected, "{args:?}: {}", said(&output));
        said(&output)
    }
}

#[test]
fn a_program_hunts_its_own_ops_and_nothing_else() {
    let Hunted { printed, .. } = &Hunted::new();
    assert!(printed.contains("hunting 3 ops on cpu"), "{printed}");
    assert!(printed.contains("planted faults were caught"), "{printed}");
    assert!(printed.contains("mean_label panics in own_ops.rs"), "{printed}");
    assert!(printed.contains("log_sum_exp returns a different result from its reference"), "{printed}");
    assert!(!printed.contains("first_half"), "{printed}");
}

#[test]
fn a_finding_of_an_own_op_is_replayed_minimized_reported_and_shown() {
    let hunted = Hunted::new();
    let name = "mean_label--contract--panic";
    let replayed = hunted.says(&["replay", name], 2);
    assert!(replayed.starts_with("answer    the op is wrong: it panics: attempt to divide by zero"), "{replayed}");
    let smallest = hunted.says(&["minimize", name], 2);
    assert!(smallest.contains("dtype = \"u32\"\nshape = [0]"), "{smallest}");
    let issue = hunted.says(&["report", name], 0);
    assert!(issue.contains("# `mean_label` panics"), "{issue}");
    hunted.says(&["site", "--into", "site"], 0);
    let page = std::fs::read_to_string(hunted.folder.path().join("site/index.html")).expect("a page");
    assert!(page.contains("mean_label") && !page.contains("tensor.matmul"), "the site is about the program's ops");
}

#[test]
fn without_a_command_the_program_says_what_it_can_do() {
    let output = Command::new(&*PROGRAM).output().expect("the example starts");
    let printed = said(&output);
    assert!(printed.contains("inputs that break log_sum_exp, mean_label, first_half."), "{printed}");
    assert!(printed.contains("own_ops hunt --time 60s") && !printed.contains("demo"), "{printed}");
}

#[test]
fn an_op_of_the_catalog_is_none_of_the_program() {
    let output = Command::new(&*PROGRAM).args(["hunt", "--ops", "tensor.matmul"]).output().expect("the example starts");
    assert_eq!(code(&output), 1);
    assert!(said(&output).contains("no op matches `tensor.matmul`"), "{}", said(&output));
}
