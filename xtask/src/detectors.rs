//! `cargo xtask detectors`: compiles our labelled programs, and measures the detectors of the simulated device on them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::thread;

use anyhow::{Context, ensure};
use snuffer_toolkit::{COMPUTE_CAP, Toolkit};

use crate::set_up::{self, step};
use crate::shell::{status, target};

#[cfg(test)]
mod accesses;
mod expand;

/// Where the programs and their labels are written down.
const SOURCES: &str = "simulator/tests/labelled";

/// Of a short measurement, every so-many-th run of each class.
const SHORT: &str = "10";

/// What no detector can find: of a program that was not written for it, nobody tells the device the views.
const KNOWN: [&str; 2] = ["--known", "overflow-inside"];

/// What to measure.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only a tenth of the runs, for CI: a minute, most of which compiles the programs. Errors that no detector can find do not count.
    #[arg(long)]
    short: bool,
    /// Only compile the programs and write their labels.
    #[arg(long)]
    build: bool,
    /// Arguments of `snuffer detectors`, such as `--cost`.
    #[arg(last = true)]
    options: Vec<String>,
}

/// Compiles, and runs `snuffer detectors`. Returns its exit code.
pub fn run(args: &Args) -> anyhow::Result<u8> {
    let toolkit = set_up::toolkit()?;
    let folder = target()?.join("labelled");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    step("compiling the labelled programs", "two minutes", || compile(&toolkit, &folder))?;
    let labels = expand::labels(&fs::read_to_string(Path::new(SOURCES).join("runs.toml"))?)?;
    fs::write(folder.join("labels.toml"), toml::to_string(&labels)?)?;
    if args.build {
        return Ok(0);
    }
    set_up::simulator()?;
    set_up::snuffer()?;
    let mut snuffer = Command::new(target()?.join("debug/snuffer"));
    snuffer.arg("detectors").arg(folder);
    if args.short {
        snuffer.args(["--every", SHORT]).args(KNOWN);
    }
    status(snuffer.args(&args.options))
}

/// Compiles each program that is older than its source or what all share.
fn compile(toolkit: &Toolkit, folder: &Path) -> anyhow::Result<()> {
    let mut stale = Vec::new();
    for program in programs()? {
        let (source, built) = (source(&program), folder.join(&program));
        let changed = |file: &Path| Ok::<_, anyhow::Error>(fs::metadata(file)?.modified()?);
        let newest = changed(&source)?.max(changed(&Path::new(SOURCES).join("labelled.cuh"))?);
        if !changed(&built).is_ok_and(|built| built >= newest) {
            stale.push(program);
        }
    }
    let queue = Mutex::new(stale.into_iter());
    let work = || -> anyhow::Result<()> {
        loop {
            let Some(program) = queue.lock().expect("no thread panics").next() else { return Ok(()) };
            compile_one(toolkit, &program, folder)?;
        }
    };
    thread::scope(|scope| {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("no thread panics"))
    })
}

/// The names of the programs.
fn programs() -> anyhow::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(SOURCES).with_context(|| format!("cannot read {SOURCES}"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "cu") {
            names.extend(path.file_stem().map(|name| name.to_string_lossy().into_owned()));
        }
    }
    names.sort();
    Ok(names)
}

fn source(program: &str) -> PathBuf {
    Path::new(SOURCES).join(format!("{program}.cu"))
}

/// Compiles a program to PTX, which both the simulated device and a GPU's driver take, and links it with the shared runtime, which the
/// simulated device replaces.
fn compile_one(toolkit: &Toolkit, program: &str, folder: &Path) -> anyhow::Result<()> {
    let (Toolkit::Installed(home) | Toolkit::Assembled(home)) = toolkit;
    let (object, built) = (folder.join(format!("{program}.o")), folder.join(program));
    let mut nvcc = Command::new(home.join("bin/nvcc"));
    nvcc.args(["-c", "-O2", "-std=c++17", "-lineinfo", "--default-stream", "per-thread"]);
    nvcc.arg(format!("-gencode=arch=compute_{COMPUTE_CAP},code=compute_{COMPUTE_CAP}"));
    finished(nvcc.arg("-o").arg(&object).arg(source(program)), program)?;
    let mut linker = Command::new("g++");
    linker.arg(&object).arg("-o").arg(&built);
    for libraries in ["lib64", "lib64/stubs"] {
        linker.arg("-L").arg(home.join(libraries));
    }
    if let Toolkit::Installed(_) = toolkit {
        // A GPU's runtime is where its toolkit is. `LD_LIBRARY_PATH` still comes first.
        linker.arg(format!("-Wl,--enable-new-dtags,-rpath,{}", home.join("lib64").display()));
    }
    finished(linker.args(["-lcudart", "-lcuda"]), program)?;
    Ok(fs::remove_file(object)?)
}

fn finished(command: &mut Command, program: &str) -> anyhow::Result<()> {
    let output = command.output().with_context(|| format!("cannot run {}", command.get_program().display()))?;
    ensure!(output.status.success(), "{program} does not compile:\n{}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}
