//! `cargo xtask dist --gpu`: an archive for a machine with a GPU and without Rust. It has the programs, the tests of devices, and
//! `gpu-report`, which asks the GPU everything that only hardware answers.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};

use super::{copy, emptied, strip, succeed};
use crate::set_up::{self, Devices};
use crate::shell::{cargo, say, target};

const NVCC: &str = include_str!("nvcc.sh");
/// What starts the report in the archive.
const REPORT: &str = "#!/bin/sh\ncd \"$(dirname \"$0\")\" && exec target/debug/xtask gpu-report --unpacked \"$@\"\n";
/// Packs a folder. Python, which fetches the compiler, is there; the program `xz` may not be.
const PACK: &str = "
import os, sys, tarfile
archive, folder = sys.argv[1:]
with tarfile.open(archive, 'w:xz', preset=4) as packed:
    packed.add(folder, os.path.basename(folder))
";
/// What the tests read.
const FILES: [&str; 7] = ["corpora", "docs", "examples", "snapshots", "tests", "xtask/nvidia-smi.sh", "README.md"];
/// The most that the archive may have: what can be sent to a machine in one go.
const MOST_BYTES: u64 = 60 << 20;
/// The architectures by which the user says that kernels stay PTX.
pub const PTX_ONLY: &str = "none";

/// Builds what the archive has, and makes it.
pub fn run(architectures: &[String]) -> anyhow::Result<u8> {
    ensure!(Devices::ALL.can_be_simulated(), "archives are built on x86-64 Linux without a GPU");
    set_up::everything(Devices::ALL)?;
    let worker = match architectures {
        [one] if one == PTX_ONLY => target()?.join("debug/snuffer-worker-cuda"),
        _ => worker(&architectures.join(" "))?,
    };
    let tests = tests()?;
    say("filling the archive");
    let dist = target()?.join("dist");
    let root = emptied(&dist.join("snuffer-gpu"))?;
    let programs = root.join("target/debug");
    fs::create_dir_all(programs.join("deps"))?;
    for program in ["snuffer", "snuffer-worker", "xtask"] {
        strip(&target()?.join("debug").join(program), &programs.join(program))?;
    }
    strip(&worker, &programs.join("snuffer-worker-cuda"))?;
    strip(&tests, &programs.join("deps/devices"))?;
    copy(&target()?.join("simulator/lib"), &root.join("target/simulator/lib"))?;
    for driver in fs::read_dir(root.join("target/simulator/lib"))?.filter_map(Result::ok) {
        if driver.file_type()?.is_file() {
            strip(&driver.path(), &driver.path())?;
        }
    }
    for file in FILES {
        copy(Path::new(file), &root.join(file))?;
    }
    fs::write(root.join("version"), crate::gpu_report::version())?;
    fs::write(root.join("gpu-report"), REPORT)?;
    fs::set_permissions(root.join("gpu-report"), fs::Permissions::from_mode(0o755))?;
    let archive = dist.join("snuffer-gpu.tar.xz");
    succeed(Command::new("python3").args(["-c", PACK]).arg(&archive).arg(&root))?;
    let bytes = fs::metadata(&archive)?.len();
    ensure!(bytes <= MOST_BYTES, "{} has {} MiB, and may have {}", archive.display(), bytes >> 20, MOST_BYTES >> 20);
    println!("{}: {} MiB; unpack it and run ./gpu-report --budget SECONDS", archive.display(), bytes >> 20);
    Ok(0)
}

/// Builds the worker whose linked kernels are machine code: a driver compiles PTX when a kernel is first used, in the middle of a case.
fn worker(architectures: &str) -> anyhow::Result<PathBuf> {
    let folder = target()?.join("gpu");
    fs::create_dir_all(&folder)?;
    let nvcc = folder.join("nvcc");
    fs::write(&nvcc, NVCC)?;
    fs::set_permissions(&nvcc, fs::Permissions::from_mode(0o755))?;
    let mut cuda = set_up::cuda_worker();
    set_up::toolkit()?.equip(&mut cuda)?;
    // Cargo does not notice that other architectures are wanted.
    cuda.env("NVCC", &nvcc).env("SNUFFER_GPU_CODE", architectures).arg("--target-dir");
    cuda.arg(folder.join(architectures.replace(' ', "-")));
    set_up::build(
        &format!("the worker with machine code for {architectures}"),
        "ten minutes the first time",
        &mut cuda,
    )?;
    Ok(folder.join(architectures.replace(' ', "-")).join("debug/snuffer-worker-cuda"))
}

/// Builds the tests of devices, and returns the program.
pub fn tests() -> anyhow::Result<PathBuf> {
    say("building the tests of devices");
    let mut tests = cargo();
    tests.args(["test", "--locked", "--no-run", "--test", "devices", "--message-format", "json-render-diagnostics"]);
    let output = tests.stderr(std::process::Stdio::inherit()).output().context("cannot run cargo")?;
    ensure!(output.status.success(), "`cargo test --no-run --test devices` failed");
    let built = String::from_utf8_lossy(&output.stdout);
    let executable = |line: &str| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        (message["target"]["name"] == "devices").then(|| message["executable"].as_str().map(PathBuf::from))?
    };
    built.lines().find_map(executable).context("cargo named no program")
}
