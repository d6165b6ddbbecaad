//! The limits of a user's shell: none changes the verdict on a case that stays below it.

use std::path::Path;
use std::process::{Command, Output};

use snuffer::case::{Backward, Case};
use snuffer::tensor::{DType, Tensor, Value};

use crate::cli::{code, text};

/// What `snuffer replay` says of a case after `ulimit` with these arguments.
fn replayed(folder: &Path, case: &Case, limit: &str) -> Output {
    let path = folder.join("case.toml");
    std::fs::write(&path, case.to_text()).expect("written");
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("ulimit {limit}; exec \"$0\" replay \"$1\" --device cpu")]);
    shell.arg(env!("CARGO_BIN_EXE_snuffer")).arg(path).env("SNUFFER_FINDINGS", folder);
    shell.output().expect("sh starts")
}

fn exp() -> Case {
    Case::new("tensor.exp").input("x", Tensor::new(DType::F32, vec![1], vec![Value::Float(0.0)]))
}

#[test]
fn a_small_stack_of_the_shell_is_not_that_of_a_case() {
    let folder = tempfile::tempdir().expect("a folder");
    let first = Case { backward: Backward::Sum, ..Case::new("sequence") }.then(exp());
    let deep = (1..5000).fold(first, |case, _| case.then(Case::new("tensor.exp")));
    let output = replayed(folder.path(), &deep, "-s 512");
    assert_eq!(code(&output), 0, "{}{}", text(&output.stdout), text(&output.stderr));
}

#[test]
fn a_smaller_memory_of_the_shell_limits_a_case() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = replayed(folder.path(), &exp(), "-v 3000000");
    assert_eq!(code(&output), 0, "{}{}", text(&output.stdout), text(&output.stderr));
}

#[test]
fn a_stack_that_is_hardly_enough_to_start_is_enough() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = replayed(folder.path(), &exp(), "-s 256");
    assert_eq!(code(&output), 0, "{}{}", text(&output.stdout), text(&output.stderr));
}

#[test]
fn files_that_may_have_no_content_are_an_error_in_a_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = replayed(folder.path(), &exp(), "-f 0");
    let said = text(&output.stderr);
    assert!(code(&output) == 5 && said.lines().count() == 1 && said.contains("TMPDIR"), "{said}");
}
