//! `snuffer lab score --host` where its worker is not built.

use std::process::Command;

#[test]
fn a_missing_build_of_host_mutants_is_one_line_with_the_command_that_makes_it() {
    // The worker and the list are looked for beside the executable.
    let target = tempfile::tempdir().expect("a folder");
    let folder = target.path().join("debug");
    std::fs::create_dir(&folder).expect("a folder");
    let snuffer = folder.join("snuffer");
    std::fs::copy(env!("CARGO_BIN_EXE_snuffer"), &snuffer).expect("copied");
    let output =
        Command::new(snuffer).args(["lab", "score", "--host", "--device", "cpu"]).output().expect("snuffer starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    let list = target.path().join("host-mutants/mutants.json");
    let expected = format!("snuffer: {} is missing; build it with `cargo xtask host-mutants`\n", list.display());
    assert_eq!((output.status.code(), &*stderr), (Some(5), &*expected));
}
