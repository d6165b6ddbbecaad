//! `cargo xtask reference`: the pages that the program itself knows best, for a release.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};

use crate::promises;
use crate::set_up::{self, Devices};
use crate::shell::{cargo, target};

/// Builds everything and writes the pages to `target/reference`. Returns 0.
pub fn run(root: &Path, cases: u64) -> anyhow::Result<u8> {
    set_up::everything(Devices::ALL)?;
    let folder = target()?.join("reference");
    fs::create_dir_all(&folder)?;
    let forms = ["run", "--quiet", "--locked", "--package", "snuffer-simulator", "--example", "forms"];
    for (name, page) in [
        ("ops.md", printed(Command::new(target()?.join("debug/snuffer")).args(["ops", "--format", "markdown"]))?),
        ("ptx.md", printed(cargo().args(forms))?),
        ("promises.md", promises::page(root, cases)?),
    ] {
        let path = folder.join(name);
        fs::write(&path, page).with_context(|| format!("cannot write {}", path.display()))?;
        println!("{}", path.display());
    }
    Ok(0)
}

fn printed(command: &mut Command) -> anyhow::Result<String> {
    let output = command.output().with_context(|| format!("cannot run {}", command.get_program().display()))?;
    ensure!(output.status.success(), "{command:?} failed: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}
