//! The page of what runs on the simulated device: made from the measured forms of instructions, from the sources of its libraries, and from
//! the list of intrinsics.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::Test;

pub const TESTS: &[Test] = &[(
    "support::the_page_says_which_instructions_and_functions_there_are",
    the_page_says_which_instructions_and_functions_there_are,
)];

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// The names after `extern "C" fn` in the sources of a folder and those below it.
fn defined(folder: &Path, names: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).expect("the driver's sources") {
        let path = entry.expect("a file").path();
        if path.is_dir() {
            defined(&path, names);
            continue;
        }
        let source = fs::read_to_string(path).expect("a source file");
        let functions = source.split("extern \"C\" fn ").skip(1).filter_map(|after| after.split('(').next());
        names.extend(functions.map(str::to_owned));
    }
}

/// A row for each library, and the functions of each that it has.
fn functions() -> (String, String) {
    let mut written = BTreeSet::new();
    defined(&Path::new(ROOT).join("simulator/driver/src"), &mut written);
    let symbols = fs::read_to_string(Path::new(ROOT).join("simulator/driver/symbols.txt")).expect("symbols.txt");
    let mut libraries: BTreeMap<&str, [Vec<&str>; 2]> = BTreeMap::new();
    for (library, symbol) in symbols.lines().filter_map(|line| line.split_once(' ')) {
        // The same functions with per-thread default streams; the page says so.
        if library == "cuda" && ["_ptsz", "_ptds"].iter().any(|suffix| symbol.ends_with(suffix)) {
            continue;
        }
        libraries.entry(library).or_default()[usize::from(!written.contains(symbol))].push(symbol);
    }
    let (mut rows, mut lists) = (String::new(), String::new());
    for (library, [work, refused]) in libraries {
        let name = match library {
            "cuda" => "CUDA driver (`libcuda.so.1`)",
            "cudart" => "CUDA runtime (`libcudart.so`)",
            "cublas" => "cuBLAS",
            "cublasLt" => "cuBLASLt",
            "cudnn" => "cuDNN",
            "curand" => "cuRAND",
            "nvrtc" => "NVRTC, without NVIDIA's own",
            other => panic!("symbols.txt: unknown library `{other}`"),
        };
        rows += &format!("| {name} | {} | {} |\n", work.len(), refused.len());
        lists += &format!("\n### {name}\n\n`{}`\n", work.join("` `"));
    }
    (rows, lists)
}

fn the_page_says_which_instructions_and_functions_there_are() {
    let (rows, lists) = functions();
    let intrinsics = fs::read_to_string(Path::new(ROOT).join("docs/intrinsics.md")).expect("docs/intrinsics.md");
    let run = intrinsics.split("**").nth(1).expect("how many run");
    let forms = fs::read_to_string(Path::new(ROOT).join("simulator/tests/forms.md")).expect("simulator/tests/forms.md");
    let page = include_str!("support.template")
        .replace("{forms}", &forms)
        .replace("{libraries}", &rows)
        .replace("{functions}", &lists)
        .replace("{intrinsics}", run);
    let path = Path::new(ROOT).join("docs/support.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, &page).expect("written");
    }
    let kept = fs::read_to_string(path).expect("docs/support.md");
    assert!(kept == page, "docs/support.md is old: its second line says how to make it");
}
