//! The rules of ARCHITECTURE.md that a machine can check.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The layers: a module imports only from rows above its own, and from its own.
const ROWS: [&[&str]; 12] = [
    &["device", "tensor"],
    &["case", "coverage", "number", "outcome"],
    &["generate"],
    &["ops"],
    &["guard", "oracle", "run"],
    &["exec", "strategy"],
    &["examine", "program"],
    &["store"],
    &["causes", "investigate", "report"],
    &["settle"],
    &[
        "candles",
        "check",
        "compare",
        "detectors",
        "fidelity",
        "fixes",
        "fuzz",
        "golden",
        "hunt",
        "kernels",
        "matrix",
        "score",
    ],
    &["cli", "console", "exit_code"],
];

fn sources(folder: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let files = walkdir::WalkDir::new(root).into_iter().map(|entry| entry.expect("readable").into_path());
    files.filter(|path| path.extension().is_some_and(|extension| extension == "rs")).collect()
}

fn row(module: &str) -> Option<usize> {
    ROWS.iter().position(|row| row.contains(&module))
}

/// The top-level module of `folder` that a file belongs to.
fn module(path: &Path, folder: &str) -> String {
    let inside = path.strip_prefix(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)).expect("in the folder");
    let first = inside.components().next().expect("a name").as_os_str().to_string_lossy().into_owned();
    first.trim_end_matches(".rs").to_string()
}

/// The code of a file, without comments and without its own tests.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).expect("readable");
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    code.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// The modules below `crate::` that the file names.
fn imports(path: &Path) -> Vec<String> {
    let code = code(path);
    let word = |rest: &str| rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
    code.match_indices("crate::").map(|(at, found)| word(&code[at + found.len()..])).collect()
}

#[test]
fn modules_import_only_from_the_layers_below() {
    let mut checked = 0;
    for path in sources("src") {
        let module = module(&path, "src");
        let Some(own) = row(&module) else {
            assert!(["main", "workers", "lib"].contains(&module.as_str()), "{module} has no row in the table");
            continue;
        };
        for name in imports(&path) {
            if let Some(other) = row(&name) {
                checked += 1;
                assert!(other <= own, "{} (row {own}) imports `{name}` (row {other})", path.display());
            }
        }
    }
    assert!(checked > 300, "only {checked} imports seen");
}

#[test]
fn only_guard_ops_and_run_name_candle() {
    for path in sources("src") {
        let text = fs::read_to_string(&path).expect("readable");
        let names_candle = text.lines().any(|line| {
            let code = line.trim_start();
            !code.starts_with("//") && (code.contains("candle_core::") || code.contains("candle_nn::"))
        });
        let allowed = ["guard", "ops", "run"].contains(&module(&path, "src").as_str());
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
fn tests_of_the_library_are_in_one_binary() {
    for path in sources("src") {
        let text = fs::read_to_string(&path).expect("readable");
        let has_test = text.lines().any(|line| line.trim() == "#[test]");
        assert!(!has_test, "{}: cargo does not run tests in src; put them into tests/it", path.display());
    }
}

/// What makes, changes or moves a file.
const WRITES: [&str; 8] = [
    "fs::write",
    "fs::rename",
    "fs::copy",
    "fs::create_dir",
    "File::create",
    "OpenOptions",
    ".persist(",
    "fs::hard_link",
];

#[test]
fn one_file_writes_files_and_one_module_draws() {
    // Workers have a journal, their captured output and their records, in a folder that goes when they do.
    let writers = ["src/store/files.rs", "src/exec/journal.rs", "src/exec/captured.rs", "src/exec/fence.rs"];
    let mut seen = BTreeSet::new();
    for path in sources("src") {
        let (code, module) = (code(&path), module(&path, "src"));
        let file =
            path.strip_prefix(env!("CARGO_MANIFEST_DIR")).expect("in the project").to_string_lossy().into_owned();
        for word in WRITES.into_iter().filter(|word| code.contains(word)) {
            assert!(writers.contains(&file.as_str()), "{file} writes files ({word}): use store::write_atomically");
            seen.insert(file.clone());
        }
        assert!(file.starts_with("src/store/history") || !code.contains("rusqlite"), "{file} opens databases");
        assert!(module == "console" || !code.contains("indicatif"), "{file} draws");
    }
    assert_eq!(seen.len(), writers.len(), "of the files that may write, only {seen:?} do");
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
            assert!(lines <= 600, "{} has {lines} lines: is there a second thing in it?", path.display());
            for stub in ["todo!(", "unimplemented!(", "#[ignore", "should_panic"] {
                assert!(path.ends_with("tidy.rs") || !text.contains(stub), "{} has {stub}", path.display());
            }
        }
    }
}

#[test]
fn every_op_is_complete_and_its_name_unique() {
    let mut names: Vec<&str> = snuffer::ops::ALL.iter().map(|op| op.name).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count, "two ops share a name");
    for op in snuffer::ops::ALL {
        assert!(!op.source.is_empty() && !op.promise.is_empty() && op.ulps >= 1.0, "{} is incomplete", op.name);
    }
}

/// The names of the fields of each `{ … }` whose first line ends with `opening`.
fn fields(text: &str, opening: &str) -> Vec<Vec<String>> {
    let lines: Vec<&str> = text.lines().collect();
    let opened = lines.iter().enumerate().filter(|(_, line)| line.ends_with(opening));
    let of = |(start, line): (usize, &&str)| {
        let indent = &line[..line.len() - line.trim_start().len()];
        let inside = lines[start + 1..].iter().take_while(|line| !line.starts_with(&format!("{indent}}}")));
        let field = |line: &&str| {
            let field = line.strip_prefix(indent)?.strip_prefix("    ")?.trim_start_matches("pub ");
            let end = field.find(|c: char| !c.is_ascii_lowercase()).filter(|&end| end > 0)?;
            field[end..].starts_with([':', ',']).then(|| field[..end].to_string())
        };
        inside.filter_map(field).collect()
    };
    opened.map(of).collect()
}

#[test]
fn every_op_states_its_fields_in_the_order_of_their_definition() {
    let read = |path: &Path| fs::read_to_string(path).expect("readable");
    let defined = fields(&read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/ops.rs")), "pub struct Op {");
    let mut checked = 0;
    for path in sources("src/ops") {
        for stated in fields(&read(&path), ": Op = Op {") {
            assert_eq!(stated, defined[0], "{}", path.display());
            checked += 1;
        }
    }
    assert!(checked > 150, "only {checked} ops seen");
}

/// The op of a file that is a table of several, by its first line.
const TABLE: &str = "//! Table:";

#[test]
fn the_path_of_an_op_is_its_name() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/ops");
    for op in snuffer::ops::ALL.iter().filter(|op| op.name.contains('.')) {
        let (family, name) = op.name.split_once('.').expect("a family and a name");
        let holds = |path: &PathBuf| {
            let (text, stem) = (fs::read_to_string(path).expect("readable"), path.file_stem().expect("a name"));
            let stem = stem.to_string_lossy().into_owned();
            let rest = name.strip_prefix(stem.as_str());
            // `conv_transpose.rs` has `conv_transpose1d`, `scatter.rs` has `scatter_add`.
            let named =
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(|c: char| !c.is_ascii_alphabetic()));
            let spelled = text.contains(&format!("\"{}\"", op.name));
            let is_table = text.starts_with(TABLE);
            let by_macro = is_table && text.contains(&format!("\"{family}.\"")) && makes(&text, name);
            (spelled && (named || is_table)) || by_macro
        };
        let files = fs::read_dir(root.join(family)).unwrap_or_else(|_| panic!("{} has no folder", op.name));
        let files: Vec<PathBuf> = files.map(|entry| entry.expect("readable").path()).filter(holds).collect();
        assert_eq!(files.len(), 1, "{} is to be found by its name, in one file: {files:?}", op.name);
    }
}

/// Whether a line of a macro's table makes this op: `ABS = abs, …`, or `ADD_SCALAR = "add", …`.
fn makes(text: &str, name: &str) -> bool {
    let (by_static, by_method) = (format!("{} = ", name.to_uppercase()), format!(" = {name},"));
    text.lines().any(|line| line.trim_start().starts_with(&by_static) || line.contains(&by_method))
}

#[test]
fn families_list_their_ops_by_name() {
    let mut family: Vec<&str> = Vec::new();
    for op in snuffer::ops::ALL.iter().filter(|op| op.name.contains('.')) {
        if family.last().is_some_and(|last| last.split('.').next() != op.name.split('.').next()) {
            family.clear();
        }
        assert!(family.last().is_none_or(|last| *last < op.name), "{} stands behind {family:?}", op.name);
        family.push(op.name);
    }
}
