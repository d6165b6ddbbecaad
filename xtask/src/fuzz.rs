//! `cargo xtask fuzz`: runs libFuzzer on candle's host code and on the simulated device's kernels for a given time.
//!
//! An input that ends the fuzzer (an abort, a hang, out of memory) is kept and skipped from then on, and the fuzzer is
//! restarted. In the end, all kept inputs are imported as findings. If this run is killed, the next one imports them.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use snuffer_toolkit::{Toolkit, once, remedy, succeeds};

mod subject;

use self::subject::Subject;
use crate::set_up::{self, Devices, Ready};
use crate::shell::{cargo, status, target};

/// The targets whose inputs are cases.
const CASES: [&str; 3] = ["forward", "backward", "program"];
/// All targets of `fuzz/`.
const TARGETS: [&str; 10] =
    ["forward", "backward", "program", "case_text", "protocol", "ptx", "store", "safetensors", "reports", "fat_binary"];
/// The fuzzer is not started for fewer seconds.
const SHORTEST: u64 = 5;

/// Arguments of `cargo xtask fuzz`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The fuzz target.
    #[arg(value_parser = TARGETS)]
    target: String,
    #[command(flatten)]
    devices: Devices,
    /// Fuzz this candle instead: a release, a checkout or patches, as for `snuffer hunt`. Only for targets whose inputs are cases.
    #[arg(long, value_name = "WHAT")]
    candle: Option<String>,
    /// Only ops whose names match, such as `loss.*`; not for `program`.
    #[arg(long)]
    ops: Option<String>,
    /// How long to fuzz, in seconds.
    #[arg(long, default_value_t = 60)]
    time: u32,
    /// Store for findings.
    #[arg(long, default_value = "findings")]
    store: String,
    /// Arguments of libFuzzer, such as `-seed=1`.
    #[arg(last = true)]
    options: Vec<String>,
}

/// The folders of a target.
struct Folders {
    /// Inputs that increased coverage.
    corpus: PathBuf,
    /// Failing inputs that are not imported yet.
    artifacts: PathBuf,
    /// Inputs that ended the fuzzer.
    fatal: PathBuf,
}

impl Folders {
    /// The folders of `target`, created if missing.
    fn of(target: &str) -> anyhow::Result<Self> {
        let [corpus, artifacts, fatal] =
            ["corpus", "artifacts", "fatal"].map(|of| Path::new("fuzz").join(of).join(target));
        for folder in [&corpus, &artifacts, &fatal] {
            std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        }
        Ok(Self { corpus, artifacts, fatal })
    }
}

/// Builds and runs the fuzzer, imports what it kept, and prints how much it executed.
pub fn run(args: &Args) -> anyhow::Result<u8> {
    ensure!(
        succeeds(Command::new("rustup").args(["run", "nightly", "rustc", "--version"])),
        "coverage needs a nightly Rust, which is missing: {}",
        remedy("nightly Rust")
    );
    let toolkit = set_up::simulated(args.devices)?;
    let subject = Subject::of(args)?;
    let binary = build(&args.target, &subject.package, toolkit.as_ref())?;
    let folders = Folders::of(&args.target)?;
    let left = target()?.join("fuzz").join(format!("{}.coverage", args.target));
    if left.exists() {
        std::fs::remove_file(&left)?;
    }
    let fuzzer = || fuzzer(&binary, args, &subject, &folders);
    let seeds = seeds(&args.target, fuzzer()?)?;
    let (starts, executed, code) = restarted(args, || {
        let mut fuzzer = fuzzer()?;
        fuzzer.arg(&folders.corpus).args(&seeds).env("SNUFFER_SIM_COVERAGE", &left);
        Ok(fuzzer)
    })?;
    let total = format!("{}: {executed} executions in {starts} starts of the fuzzer", args.target);
    if !CASES.contains(&args.target.as_str()) {
        println!("{total}");
        return Ok(code);
    }
    // What imports findings is built last: nobody has to wait for it to see the first input run.
    let Ready { devices, .. } = set_up::everything(args.devices)?;
    let code = import(args, &folders)?;
    if left.exists() {
        status(Command::new(target()?.join("debug/snuffer")).arg("coverage").arg(&left))?;
    }
    println!("{total}, on {devices}");
    Ok(code)
}

/// Runs the fuzzer until the time is over, and restarts it if an input ended it. Returns the number of starts, the number
/// of executed inputs and the last exit code.
fn restarted(args: &Args, fuzzer: impl Fn() -> anyhow::Result<Command>) -> anyhow::Result<(u64, u64, u8)> {
    let until = Instant::now() + Duration::from_secs(args.time.into());
    let left = || until.saturating_duration_since(Instant::now()).as_secs();
    let (mut starts, mut executed) = (0, 0);
    loop {
        let seconds = left().max(SHORTEST);
        let (code, units) = watched(fuzzer()?.arg(format!("-max_total_time={seconds}")))?;
        ensure!(units > 0, "the fuzzer ended with {code} before it executed anything");
        starts += 1;
        executed += units;
        // A case that ended the fuzzer is skipped from now on. A failing reader must be fixed first.
        if left() < SHORTEST || (code != 0 && !CASES.contains(&args.target.as_str())) {
            return Ok((starts, executed, code));
        }
    }
}

/// Runs libFuzzer to its end. Returns its exit code and the number of inputs that it executed.
fn watched(fuzzer: &mut Command) -> anyhow::Result<(u8, u64)> {
    let name = fuzzer.get_program().display().to_string();
    let mut child = fuzzer.stderr(Stdio::piped()).spawn().with_context(|| format!("cannot run {name}"))?;
    let mut units = 0;
    for line in BufReader::new(child.stderr.take().context("its stderr is a pipe")?).split(b'\n') {
        let line = line?;
        let line = String::from_utf8_lossy(&line);
        // `#8192 pulse …` while it runs, and the total if it ends normally.
        let number = line.strip_prefix("stat::number_of_executed_units:").or_else(|| line.strip_prefix('#'));
        let number = number.and_then(|rest| rest.split_whitespace().next()?.parse().ok());
        units = number.unwrap_or(units);
        // One line per kept input would be too many to read.
        if !line.contains("\tNEW ") && !line.contains("\tREDUCE ") {
            eprintln!("{line}");
        }
    }
    let code = child.wait()?.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(5);
    Ok((code, units))
}

/// The folders with the seeds of a target. `.clusterfuzzlite/build.sh` repeats this list. Cases are drawn anew each time: a valid
/// one for each op of this candle, or of those that are fuzzed.
fn seeds(name: &str, mut fuzzer: Command) -> anyhow::Result<Vec<PathBuf>> {
    match name {
        "protocol" => Ok(vec!["corpora/protocol".into()]),
        "store" | "safetensors" => Ok(vec![Path::new("corpora/foreign").join(name)]),
        // It ends with what the device says.
        "reports" => Ok(vec!["simulator/tests/fail".into()]),
        "fat_binary" => Ok(Vec::new()),
        // The simulator's own tests: valid and invalid PTX.
        "ptx" => Ok(vec!["simulator/tests/pass".into(), "simulator/tests/fail".into()]),
        cases => {
            let folder = target()?.join("fuzz-seeds").join(cases);
            if folder.exists() {
                std::fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))?;
            }
            ensure!(status(fuzzer.env("SNUFFER_FUZZ_SEEDS", &folder))? == 0, "{cases} drew no seeds");
            Ok(vec![folder])
        }
    }
}

/// Builds a target of `package`. Only the code under test is instrumented for coverage; the library of the simulated device is not.
fn build(name: &str, package: &Path, cuda: Option<&Toolkit>) -> anyhow::Result<PathBuf> {
    let is_case = CASES.contains(&name);
    // Two folders, because the two kinds of instrumentation build each crate differently.
    let folder = target()?.join(if is_case { "fuzz" } else { "fuzz-readers" });
    let mut fuzz = Command::new(cargo_fuzz()?);
    // Run the `cargo` of the nightly toolchain.
    fuzz.env("RUSTUP_TOOLCHAIN", "nightly").env_remove("CARGO");
    fuzz.args(["fuzz", "build", "--sanitizer", "none", "--fuzz-dir"]).arg(package);
    fuzz.arg("--target-dir").arg(&folder).arg(name);
    if is_case {
        fuzz.env("RUSTC_WRAPPER", std::path::absolute("fuzz/rustc.sh")?);
    }
    if let Some(toolkit) = cuda.filter(|_| is_case) {
        toolkit.equip(fuzz.args(["--features", "cuda"]))?;
    }
    set_up::build(&format!("the fuzz target {name}"), "minutes on a new machine", &mut fuzz)?;
    Ok(folder.join("x86_64-unknown-linux-gnu/release").join(name))
}

/// The path of cargo-fuzz, installed under `target`.
fn cargo_fuzz() -> anyhow::Result<PathBuf> {
    const VERSION: &str = "0.13.2";
    let folder = target()?.join("cargo-fuzz");
    once(&folder, VERSION, |folder| {
        let mut install = cargo();
        // Without optimizations, which would take longer than all that it ever does.
        install.args(["install", "cargo-fuzz", "--debug", "--locked", "--version", VERSION, "--root"]).arg(folder);
        set_up::build("cargo-fuzz", "a minute on a new machine", &mut install)
    })?;
    Ok(folder.join("bin/cargo-fuzz"))
}

/// The command that runs a target, with its devices and the findings that it skips.
fn fuzzer(binary: &Path, args: &Args, subject: &Subject, folders: &Folders) -> anyhow::Result<Command> {
    let mut fuzzer = Command::new(binary);
    // Loop counts only depend on sizes. Inputs kept for them would be most of the corpus.
    fuzzer.args(["-timeout=5", "-rss_limit_mb=4096", "-use_counters=0"]);
    fuzzer.arg(format!("-artifact_prefix={}/", folders.artifacts.display()));
    fuzzer.env("SNUFFER_FINDINGS", &subject.store).env("SNUFFER_FUZZ_ARTIFACTS", &folders.artifacts);
    fuzzer.env("SNUFFER_FUZZ_FATAL", &folders.fatal);
    let simulated = args.devices.can_be_simulated();
    fuzzer.env("SNUFFER_DEVICES", if simulated { "cpu,sim:0" } else { "cpu" });
    if simulated {
        fuzzer.env("LD_LIBRARY_PATH", target()?.join("simulator/lib"));
    }
    // Prefer fast inputs.
    fuzzer.args(["-max_len=8192", "-print_final_stats=1", "-entropic_scale_per_exec_time=1"]).args(&args.options);
    let dictionary = Path::new("corpora/cases.dict");
    if CASES.contains(&args.target.as_str()) && dictionary.is_file() {
        fuzzer.arg(format!("-dict={}", dictionary.display()));
    }
    if args.target == "fat_binary" {
        // The driver says of each why it cannot load it.
        fuzzer.arg("-close_fd_mask=2");
    }
    if let Some(ops) = &args.ops {
        fuzzer.env("SNUFFER_FUZZ_OPS", ops);
    }
    Ok(fuzzer)
}

/// Imports what the fuzzer kept as findings, and removes it. Inputs that ended the fuzzer are kept for the next run to skip,
/// because not each of them is a finding of its own.
fn import(args: &Args, Folders { artifacts, fatal, .. }: &Folders) -> anyhow::Result<u8> {
    let files: Vec<_> = std::fs::read_dir(artifacts)?.collect::<Result<_, _>>()?;
    if files.is_empty() {
        return Ok(0);
    }
    let mut snuffer = Command::new(target()?.join("debug/snuffer"));
    snuffer.arg("import").arg(artifacts).args(["--store", &args.store]);
    snuffer.args(args.candle.iter().flat_map(|candle| ["--candle", candle]));
    let code = status(args.devices.limit(&mut snuffer))?;
    if ![0, 2].contains(&code) {
        bail!("`snuffer import {}` failed with {code}; its files are kept", artifacts.display());
    }
    for file in files {
        let path = file.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            std::fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
        } else {
            let kept = fatal.join(file.file_name());
            std::fs::rename(&path, kept).with_context(|| format!("cannot move {}", path.display()))?;
        }
    }
    Ok(code)
}
