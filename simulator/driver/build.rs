//! For every symbol that the sources do not define, writes a function that reports itself as unsupported, that is NVIDIA's, or that calls
//! another one with the thread's own default stream.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=symbols.txt");
    println!("cargo::rerun-if-changed=src");
    let defined = defined(Path::new("src"));
    let symbols = fs::read_to_string("symbols.txt").expect("symbols.txt");
    let (mut text, mut functions) = (String::new(), BTreeSet::new());
    for line in symbols.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (library, symbol) = line.split_once(' ').unwrap_or_else(|| panic!("symbols.txt: no library in `{line}`"));
        if library == "cuda" {
            functions.insert(symbol);
        }
        if defined.contains(symbol) {
            continue;
        }
        match (library, symbol.strip_suffix("_ptsz").or(symbol.strip_suffix("_ptds"))) {
            ("cuda", Some(shared)) => writeln!(text, "own_default!({symbol}, {shared});"),
            ("nvrtc", _) => writeln!(text, "nvrtc!({symbol}, {});", not_supported(library)),
            _ => writeln!(text, "unsupported!({symbol}, {});", not_supported(library)),
        }
        .expect("a string takes it");
    }
    let out = env::var_os("OUT_DIR").expect("set by cargo");
    fs::write(Path::new(&out).join("unsupported.rs"), text).expect("OUT_DIR can be written");
    fs::write(Path::new(&out).join("exports.rs"), exports(&functions)).expect("OUT_DIR can be written");
}

/// A table of the driver's functions, sorted by name.
fn exports(functions: &BTreeSet<&str>) -> String {
    let declared: Vec<_> = functions.iter().map(|name| format!("fn {name}();")).collect();
    let listed: Vec<_> = functions.iter().map(|name| format!("(\"{name}\", {name}),")).collect();
    format!(
        "unsafe extern \"C\" {{ {} }}\npub static TABLE: &[(&str, unsafe extern \"C\" fn())] = &[{}];\n",
        declared.join(" "),
        listed.join(" ")
    )
}

/// The code by which a library refuses what it does not do, or the nearest that it has.
fn not_supported(library: &str) -> u32 {
    match library {
        "cuda" | "cudart" => 801,
        "cublas" | "cublasLt" => 15,
        // cuRAND has no such status; a type error is the refusal that no data can cause.
        "curand" => 103,
        // The statuses of cuDNN 9; those of cuDNN 8 are other numbers.
        "cudnn" => 3000,
        "nvrtc" => 11,
        other => panic!("symbols.txt: unknown library `{other}`"),
    }
}

/// The names after `extern "C" fn` in the sources of a folder and those below it.
fn defined(folder: &Path) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(folder).expect("src") {
        let path = entry.expect("src").path();
        if path.is_dir() {
            names.append(&mut defined(&path));
            continue;
        }
        let source = fs::read_to_string(path).expect("a source file");
        for after in source.split("extern \"C\" fn ").skip(1) {
            names.extend(after.split('(').next().map(str::to_owned));
        }
    }
    names
}
