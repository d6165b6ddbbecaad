//! A `CUDA_HOME` for machines without a GPU: a wrapper of nvcc, and stub libraries to link.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};

/// The libraries that candle links, with the version in their names.
pub const LIBRARIES: [(&str, u32); 7] =
    [("cuda", 1), ("cublas", 13), ("cublasLt", 13), ("curand", 10), ("nvrtc", 13), ("cudart", 13), ("cudnn", 9)];

const NVCC: &str = include_str!("nvcc.sh");
/// The symbols that the libraries export: one `library symbol` per line.
const SYMBOLS: &str = include_str!("symbols.txt");

/// Everything that [`assemble`] depends on.
pub fn stamp() -> String {
    format!("{NVCC}{LIBRARIES:?}\n{SYMBOLS}")
}

/// Fills `home`, which is next to the folder `packages`.
pub fn assemble(home: &Path) -> anyhow::Result<()> {
    let nvcc = home.join("bin/nvcc");
    fs::create_dir_all(home.join("bin"))?;
    fs::write(&nvcc, NVCC)?;
    fs::set_permissions(&nvcc, fs::Permissions::from_mode(0o755))?;
    for folder in ["include", "nvvm"] {
        symlink(Path::new("../packages/nvidia/cu13").join(folder), home.join(folder))?;
    }
    let lib = home.join("lib");
    fs::create_dir(&lib)?;
    symlink("lib", home.join("lib64"))?;
    for (library, version) in LIBRARIES {
        let exported = SYMBOLS.lines().filter_map(|line| line.strip_prefix(library)?.strip_prefix(' '));
        let source: Vec<_> = exported.map(|symbol| format!("int {symbol}(void) {{ return 0; }}\n")).collect();
        compile(&source.concat(), &lib, &soname(library, version))
            .with_context(|| format!("cannot make lib{library}.so"))?;
        symlink(soname(library, version), lib.join(unversioned(library)))?;
    }
    Ok(())
}

/// The file name of a library that programs load when they start.
pub fn soname(library: &str, version: u32) -> String {
    format!("lib{library}.so.{version}")
}

/// The file name of a library that the linker looks for.
pub fn unversioned(library: &str) -> String {
    format!("lib{library}.so")
}

fn compile(source: &str, lib: &Path, soname: &str) -> anyhow::Result<()> {
    let text = lib.join("stubs.c");
    fs::write(&text, source)?;
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-nostdlib", "-o"]).arg(lib.join(soname)).arg(format!("-Wl,-soname,{soname}")).arg(&text);
    ensure!(cc.status().context("cannot run cc")?.success(), "cc failed");
    Ok(fs::remove_file(text)?)
}
