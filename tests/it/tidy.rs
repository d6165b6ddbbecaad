//! The rules of ARCHITECTURE.md that a machine can check.

use std::fs;
use std::path::{Path, PathBuf};

/// The layers: a module imports only from its own row and the rows above.
const ROWS: [&[&str]; 10] = [
    &["device", "tensor"],
    &["case", "coverage", "number", "outcome"],
    &["generate", "minimize", "mutate"],
    &["ops"],
    &["guard", "oracle", "run", "sample"],
    &["exec"],
    &["findings", "history", "regression", "report"],
    &["campaign", "fuzz", "matrix", "score"],
    &["console"],
    &["cli", "exit_code"],
];

fn sources(folder: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let files = walkdir::WalkDir::new(root).into_iter().map(|entry| entry.expect("readable").into_path());
    files.filter(|path| path.extension().is_some_and(|extension| extension == "rs")).collect()
}

fn row(module: &str) -> Option<usize> {
    ROWS.iter().position(|row| row.contains(&module))
}

/// The top-level module that a file of `src` belongs to.
fn module(path: &Path) -> String {
    let inside = path.strip_prefix(Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).expect("in src");
    let first = inside.components().next().expect("a name").as_os_str().to_string_lossy().into_owned();
    first.trim_end_matches(".rs").to_string()
}

#[test]
fn modules_import_only_from_the_layers_below() {
    let mut checked = 0;
    for path in sources("src") {
        let module = module(&path);
        let Some(own) = row(&module) else {
            assert!(
                ["main", "worker_main", "worker_cuda_main", "lib"].contains(&module.as_str()),
                "{module} has no row in the table"
            );
            continue;
        };
        let text = fs::read_to_string(&path).expect("readable");
        for (_, rest) in text.match_indices("crate::").map(|(at, found)| (at, &text[at + found.len()..])) {
            let name: String = rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
            if let Some(other) = row(&name) {
                checked += 1;
                assert!(other <= own, "{} (row {own}) imports `{name}` (row {other})", path.display());
            }
        }
    }
    assert!(checked > 50, "only {checked} imports seen");
}

#[test]
fn only_guard_ops_and_run_name_candle() {
    for path in sources("src") {
        let text = fs::read_to_string(&path).expect("readable");
        let names_candle = text.lines().any(|line| {
            let code = line.trim_start();
            !code.starts_with("//") && (code.contains("candle_core::") || code.contains("candle_nn::"))
        });
        let allowed = ["guard", "ops", "run"].contains(&module(&path).as_str());
        assert!(allowed || !names_candle, "{} names candle", path.display());
    }
}

#[test]
fn the_simulator_knows_nothing_of_candle_or_cases() {
    let folders = ["simulator/src", "simulator/driver/src"];
    for path in folders.into_iter().flat_map(sources) {
        let text = fs::read_to_string(&path).expect("readable");
        for word in ["candle_core", "candle_nn", "snuffer::", "Outcome"] {
            assert!(!text.contains(word), "{} has {word}", path.display());
        }
    }
}

#[test]
fn oracles_neither_execute_nor_print_nor_touch_the_disk() {
    for path in sources("src/oracle") {
        let text = fs::read_to_string(&path).expect("readable");
        for word in ["std::fs", "std::process", "std::time", "println!", "crate::run", "crate::exec"] {
            assert!(!text.contains(word), "{} has {word}", path.display());
        }
    }
}

#[test]
fn only_findings_writes_and_only_console_draws() {
    for path in sources("src") {
        let text = fs::read_to_string(&path).expect("readable");
        let module = module(&path);
        assert!(module == "findings" || !text.contains("fs::write"), "{} writes", path.display());
        assert!(module == "history" || !text.contains("rusqlite"), "{} opens databases", path.display());
        assert!(module == "console" || !text.contains("indicatif"), "{} draws", path.display());
    }
}

#[test]
fn every_file_starts_with_its_purpose_and_stays_short() {
    let simulator =
        ["simulator/src", "simulator/tests", "simulator/benches", "simulator/driver/src", "simulator/driver/tests"];
    for folder in ["src", "tests", "xtask/src", "benches", "examples"].into_iter().chain(simulator) {
        for path in sources(folder) {
            let text = fs::read_to_string(&path).expect("readable");
            assert!(text.starts_with("//! "), "{} does not say what it is for", path.display());
            let lines = text.lines().count();
            assert!(lines <= 400, "{} has {lines} lines: is there a second thing in it?", path.display());
            for stub in ["todo!(", "unimplemented!(", "#[ignore", "should_panic"] {
                assert!(path.ends_with("tidy.rs") || !text.contains(stub), "{} has {stub}", path.display());
            }
        }
    }
}

#[test]
fn every_op_has_a_file_of_its_family_and_a_unique_name() {
    let mut names: Vec<&str> = snuffer::ops::ALL.iter().map(|op| op.name).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count, "two ops share a name");
    for op in snuffer::ops::ALL {
        assert!(!op.source.is_empty() && !op.promise.is_empty() && op.ulps >= 1.0, "{} is incomplete", op.name);
    }
}
