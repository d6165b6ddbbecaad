//! What `nvcc` makes of CUDA's intrinsics: the kernels of `tests/intrinsics/`, optimized, not, and with fast math, on the simulated device.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use simulator::{Config, Device, Fault, Kind, Launch, LoadError};

use crate::Test;
use crate::command::target;

pub const TESTS: &[Test] = &[(
    "intrinsics::the_document_says_what_the_simulated_device_cannot_run",
    the_document_says_what_the_simulated_device_cannot_run,
)];

const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/intrinsics");
const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/intrinsics.md");

/// The PTX of a file, with more options.
fn compiled(file: &Path, options: &[&str]) -> String {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let ptx = folder.path().join("kernels.ptx");
    let mut nvcc = Command::new(target().join("cuda/home/bin/nvcc"));
    nvcc.args(["-ptx", "-arch=sm_90", "-std=c++17"]).args(options).arg(file).arg("-o").arg(&ptx);
    let output = nvcc.output().expect("nvcc, which `cargo xtask build` sets up");
    assert!(output.status.success(), "{}: {}", file.display(), String::from_utf8_lossy(&output.stderr));
    fs::read_to_string(ptx).expect("nvcc has written it")
}

/// What keeps a kernel from running, if anything does.
fn missing(ptx: &str, kernel: &str) -> Option<String> {
    let mut device = Device::new(0, &Config { budget: 100_000, ..Config::default() });
    let module = match device.load(ptx) {
        Ok(module) => module,
        Err(LoadError::Syntax(what) | LoadError::TooNewArchitecture(what) | LoadError::TooNewVersion(what)) => {
            return Some(format!("the whole module: {what}"));
        }
    };
    let function = device.function(module, kernel).expect("it is in the text");
    let launch = Launch { grid: [1; 3], block: [32, 1, 1], shared: 0, params: vec![0; 48] };
    // The pointers are null, so that a kernel that is supported ends with a fault.
    match device.launch(function, &launch) {
        Err(Fault { kind: Kind::Unsupported, detail, .. }) => Some(detail.to_string()),
        _ => None,
    }
}

/// The names of the kernels of a text.
fn kernels(ptx: &str) -> impl Iterator<Item = &str> {
    ptx.split(".entry ").skip(1).filter_map(|rest| rest.split('(').next())
}

fn document() -> String {
    let mut files: Vec<PathBuf> =
        fs::read_dir(SOURCES).expect("the kernels").map(|it| it.expect("a file").path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "cu"));
    files.sort();
    let (mut count, mut lines) = (0, String::new());
    for file in &files {
        let mut unsupported: BTreeMap<String, [Option<String>; 3]> = BTreeMap::new();
        for (way, options) in [&["-O3"][..], &["-G", "-O0"], &["-use_fast_math"]].into_iter().enumerate() {
            let ptx = compiled(file, options);
            for kernel in kernels(&ptx) {
                count += usize::from(way == 0);
                if let Some(what) = missing(&ptx, kernel) {
                    unsupported.entry(kernel.to_owned()).or_default()[way] = Some(what);
                }
            }
        }
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        for (kernel, ways) in unsupported {
            let [optimized, debug, fast] =
                ways.map(|what| what.map_or("runs".to_owned(), |what| format!("`{}`", what.replace('`', ""))));
            lines += &format!("| {name} | {} | {optimized} | {debug} | {fast} |\n", kernel.trim_start_matches("test_"));
        }
    }
    let runs = count - lines.lines().count();
    let others = if lines.is_empty() {
        String::new()
    } else {
        format!(
            " The others, and the first thing that each lacks:\n\n\
             | file | kernel | optimized | not optimized | fast math |\n|---|---|---|---|---|\n{}",
            lines.trim_end()
        )
    };
    format!(
        "# CUDA's intrinsics on the simulated device\n\n\
         Made by `UPDATE_DOCS=1 cargo test -p cargo-snuffer intrinsics` from the kernels of `cargo-snuffer/tests/intrinsics/`, which `nvcc`\n\
         compiles for compute capability 9.0: optimized (`-O3`), not (`-G -O0`), and with `-use_fast_math`.\n\n\
         **{runs} of {count} kernels run.**{others}\n"
    )
}

fn the_document_says_what_the_simulated_device_cannot_run() {
    let text = document();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(DOCUMENT, &text).expect("written");
    }
    let kept = fs::read_to_string(DOCUMENT).expect("docs/intrinsics.md");
    assert!(kept == text, "docs/intrinsics.md is old: its first line says how to make it");
}
