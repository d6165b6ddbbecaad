//! What a run prints and writes.

use std::fs;

use crate::Test;
use crate::command::{PROGRAM, parts, snuffer};

pub const TESTS: &[Test] = &[
    (
        "each_test_runs_alone_and_the_summary_names_the_call_that_launched_the_kernel",
        each_test_runs_alone_and_the_summary_names_the_call,
    ),
    ("what_libraries_do_counts_as_work_of_the_device", what_libraries_do_counts_as_work_of_the_device),
];

fn each_test_runs_alone_and_the_summary_names_the_call() {
    let folder = tempfile::tempdir().expect("a folder");
    let [junit, sarif, json] = ["junit.xml", "run.sarif", "run.json"].map(|name| folder.path().join(name));
    let file = |path: &std::path::Path| path.to_str().expect("text").to_string();
    let (junit_path, sarif_path, json_path) = (file(&junit), file(&sarif), file(&json));
    let files = ["--junit", &junit_path, "--sarif", &sarif_path, "--json", &json_path];
    let (code, shown, said) =
        parts(&snuffer(&[&["test"], &files[..], &["--test", "it", "--", "--test-threads=1"]].concat()));
    assert_eq!(code, Some(101), "{shown}{said}");
    let summary = said.split_once("\nOn the simulated device").expect("a summary").1;
    let written = |path| fs::read_to_string(path).expect("written").replace(PROGRAM, "PROGRAM");
    let json: serde_json::Value = serde_json::from_str(&written(&json)).expect("JSON");
    assert_eq!(json["findings"].as_array().map(Vec::len), Some(1), "{summary}");
    insta::with_settings!({
        filters => vec![
            (r"\d+\.\d\d+", "TIME"),
            (r"'a_place_outside_is_picked' \(\d+\)", "'a_place_outside_is_picked' (THREAD)"),
            (r"&apos;a_place_outside_is_picked&apos; \(\d+\)", "'a_place_outside_is_picked' (THREAD)"),
            (r#" uuid="[^"]*"| timestamp="[^"]*""#, ""),
        ],
        prepend_module_to_snapshot => false,
    }, {
        insta::assert_snapshot!("output", shown);
        insta::assert_snapshot!("summary", summary);
        insta::assert_snapshot!("junit", written(&junit));
        insta::assert_snapshot!("sarif", written(&sarif));
    });
}

fn what_libraries_do_counts_as_work_of_the_device() {
    for (test, shows, says) in [
        ("a_library_sums", "1 library call)", "0 launches of 0 kernels, 1 library call.\n"),
        ("nothing_is_done", "0 launches)", "0 launches of 0 kernels.\nNo kernel was launched: was the program built"),
        ("", "running 2 tests", "0 launches of 0 kernels, 1 library call.\n1 passed without a launch.\n"),
    ] {
        let (code, shown, said) = parts(&snuffer(&["test", "--test", "library", "--", test]));
        assert_eq!(code, Some(0), "{shown}{said}");
        assert!(shown.contains(shows) && said.contains(says), "{test}: {shown}{said}");
        assert!(test == "nothing_is_done" || !said.contains("CUDA feature"), "{test}: {said}");
    }
}
