//! How a run ends: by its tests, by what the device saw, and by what is let pass.

use std::fs;

use crate::Test;
use crate::command::{PROGRAM, built, parts, snuffer};

pub const TESTS: &[Test] = &[
    ("sound_tests_end_with_0", sound_tests_end_with_0),
    ("a_passing_test_that_faults_fails_the_run_unless_that_is_let_pass", a_passing_test_that_faults_fails_the_run),
    ("what_documentation_tests_do_is_seen_too", what_documentation_tests_do_is_seen_too),
    ("a_program_is_run_and_ends_as_it_ends", a_program_is_run_and_ends_as_it_ends),
    ("what_does_not_build_is_cargos_to_explain", what_does_not_build_is_cargos_to_explain),
    ("bad_options_are_one_line", bad_options_are_one_line),
];

fn sound_tests_end_with_0() {
    let (code, shown, said) = parts(&snuffer(&["test", "--test", "it", "--", "places_within"]));
    assert_eq!(code, Some(0), "{shown}{said}");
    assert!(shown.contains("test places_within_are_picked ... ok") && shown.contains("1 launch)"), "{shown}");
    assert!(said.ends_with("On the simulated device: 1 process, 0 failed; 1 launch of 1 kernel.\n"), "{said}");
}

fn a_passing_test_that_faults_fails_the_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let known = folder.path().join("known.toml");
    let entry =
        |kernel: &str| format!("[[suppress]]\nkind = 'out of bounds'\nkernel = '{kernel}'\nreason = 'is fixed soon'\n");
    let known_path = known.to_str().expect("text");
    for (options, kernel, expected, says) in [
        (&[][..], "pick", 2, "fault: out of bounds in pick"),
        (&["--fail-on", "never"], "pick", 0, "fault: out of bounds in pick"),
        (&["--suppress", known_path], "pi*", 0, "suppressed fault: out of bounds in pick: is fixed soon"),
        (&["--suppress", known_path], "another", 2, "fault: out of bounds in pick"),
    ] {
        fs::write(&known, entry(kernel)).expect("writable");
        let run = [&["test"], options, &["--test", "it", "--", "--exact", "a_place_far_outside_is_forgiven"]].concat();
        let (code, shown, said) = parts(&snuffer(&run));
        assert_eq!(code, Some(expected), "{options:?} {kernel}: {shown}{said}");
        assert!(shown.contains("1 passed; 0 failed") && said.contains(says), "{options:?} {kernel}: {shown}{said}");
    }
}

fn what_documentation_tests_do_is_seen_too() {
    let (code, shown, said) = parts(&snuffer(&["test", "--doc"]));
    assert_eq!(code, Some(2), "{shown}{said}");
    assert!(
        said.contains("fault: out of bounds in pick") && said.contains("from program::pick (src/lib.rs:"),
        "{said}"
    );
    assert!(said.contains("1 process, 0 failed; 1 launch of 1 kernel"), "{said}");
    assert!(said.contains("    in program/documentation\n"), "{said}");
}

fn a_program_is_run_and_ends_as_it_ends() {
    let built = built().join("debug/program");
    let built = built.to_str().expect("text");
    for (command, place, expected, shows) in [
        (&["run", "--"][..], "2", 0, "[30]"),
        (&["run", "--"], "9", 1, "CUDA_ERROR_ILLEGAL_ADDRESS"),
        (&["exec", "--", built], "2", 0, "[30]"),
        (&["exec", built], "9", 1, "CUDA_ERROR_ILLEGAL_ADDRESS"),
    ] {
        let (code, shown, said) = parts(&snuffer(&[command, &[place]].concat()));
        assert_eq!(code, Some(expected), "{command:?}: {shown}{said}");
        assert!(shown.contains(shows) && said.contains("1 process"), "{command:?}: {shown}{said}");
        assert_eq!(said.contains("from program::pick (src/lib.rs:"), expected == 1, "{command:?}: {said}");
    }
}

fn what_does_not_build_is_cargos_to_explain() {
    let (code, _, said) = parts(&snuffer(&["test", "--features", "there-is-none"]));
    assert_eq!(code, Some(101), "{said}");
    assert!(said.contains("there-is-none") && !said.contains("On the simulated device"), "{said}");
}

fn bad_options_are_one_line() {
    let missing = "cannot read missing.toml";
    for (args, says) in [
        (&["test", "--suppress", "missing.toml"][..], missing),
        (&["test", "--suppress", "Cargo.toml"], "Cargo.toml is not a list of suppressions"),
        (&["exec"], "name a program: cargo snuffer exec -- ./program"),
        (&["exec", "./there-is-none"], "cannot run ./there-is-none"),
    ] {
        let (code, _, said) = parts(&snuffer(args));
        assert_eq!(code, Some(5), "{args:?}: {said}");
        assert!(said.starts_with("cargo snuffer: ") && said.contains(says), "{args:?}: {said}");
    }
    assert!(!fs::exists(format!("{PROGRAM}/missing.toml")).expect("readable"));
}
