//! `cargo xtask fuzz`: libFuzzer on candle's host code and on the simulated device's kernels, until its time is over.
//!
//! What ends the fuzzer (an abort, a hang, no memory left) is imported as a finding, and the fuzzer started again: it
//! steps over what the store knows.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};

use crate::toolkit::Toolkit;
use crate::{Devices, set_up, status, target, toolkit};

/// The targets whose inputs are cases.
const CASES: [&str; 3] = ["forward", "backward", "program"];
/// All targets of `fuzz/`.
const TARGETS: [&str; 6] = ["forward", "backward", "program", "case_text", "protocol", "ptx"];
/// The fewest seconds that are worth a start.
const WORTH: u64 = 5;

/// Arguments of `cargo xtask fuzz`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What to fuzz.
    #[arg(value_parser = TARGETS)]
    target: String,
    #[command(flatten)]
    devices: Devices,
    /// How long, in seconds.
    #[arg(long, default_value_t = 60)]
    time: u64,
    /// Where findings go.
    #[arg(long, default_value = "findings")]
    store: String,
    /// Arguments of libFuzzer, such as `-seed=1`.
    #[arg(last = true)]
    options: Vec<String>,
}

/// Fuzzes; says how often the fuzzer was started.
pub fn run(args: &Args) -> anyhow::Result<u8> {
    let there = Command::new("cargo").args(["fuzz", "--version"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    ensure!(
        there.is_ok_and(|status| status.success()),
        "no cargo-fuzz: `cargo install cargo-fuzz --locked` installs it"
    );
    let devices = set_up(&args.devices, false)?;
    let cuda = if args.devices.cpu || !devices.contains("sim:0;") { None } else { Some(toolkit()?) };
    let binary = build(&args.target, cuda.as_ref())?;
    let corpus = Path::new("fuzz/corpus").join(&args.target);
    let artifacts = Path::new("fuzz/artifacts").join(&args.target);
    std::fs::create_dir_all(&corpus)?;
    std::fs::create_dir_all(&artifacts)?;
    let until = Instant::now() + Duration::from_secs(args.time);
    let mut starts = 0;
    let worst = loop {
        let left = until.saturating_duration_since(Instant::now()).as_secs().max(WORTH);
        starts += 1;
        let code = status(&mut fuzzer(&binary, args, cuda.is_some(), &corpus, &artifacts, left)?)?;
        let findings = if CASES.contains(&args.target.as_str()) { import(args, &artifacts)? } else { code };
        let over = until.saturating_duration_since(Instant::now()).as_secs() < WORTH;
        if over || !CASES.contains(&args.target.as_str()) {
            break findings;
        }
    };
    eprintln!("xtask: {} fuzzed on {devices}; {starts} starts", args.target);
    Ok(worst)
}

/// Builds a target with candle instrumented, and the simulated device's library beside it as it is.
fn build(name: &str, cuda: Option<&Toolkit>) -> anyhow::Result<PathBuf> {
    let folder = target()?.join("fuzz");
    let mut fuzz = Command::new("cargo");
    fuzz.args(["+nightly", "fuzz", "build", "--sanitizer", "none", "--target-dir"]).arg(&folder).arg(name);
    if let Some(toolkit) = cuda {
        toolkit.equip(fuzz.args(["--features", "cuda"]))?;
    }
    crate::build(&format!("the fuzz target {name}"), "ten minutes on a new machine, else seconds", &mut fuzz)?;
    Ok(folder.join("x86_64-unknown-linux-gnu/release").join(name))
}

/// Arguments of `cargo xtask corpus`.
#[derive(Debug, clap::Args)]
pub struct Corpus {
    /// Whose seeds.
    #[arg(value_parser = CASES)]
    target: String,
    #[command(flatten)]
    devices: Devices,
}

/// Adds to the seeds of a target the fewest of what was fuzzed here that reach more than they do.
pub fn corpus(args: &Corpus) -> anyhow::Result<u8> {
    let simulated = set_up(&args.devices, false)?.contains("sim:0;") && !args.devices.cpu;
    let binary = build(&args.target, simulated.then(toolkit).transpose()?.as_ref())?;
    let (seeds, fuzzed) = (Path::new("corpora").join(&args.target), Path::new("fuzz/corpus").join(&args.target));
    ensure!(fuzzed.is_dir(), "nothing was fuzzed here: `cargo xtask fuzz {}` comes first", args.target);
    let mut merge = Command::new(binary);
    // What is reached, not how often or in which combinations: seeds are few and small.
    merge.env("SNUFFER_FUZZ_WITHOUT", "cells").args(["-set_cover_merge=1", "-use_counters=0", "-max_len=1024"]);
    environment(merge.args([&seeds, &fuzzed]), simulated)?;
    ensure!(status(&mut merge)? == 0, "libFuzzer could not merge");
    for file in std::fs::read_dir(&seeds)? {
        let path = file?.path();
        if path.extension().is_none() {
            std::fs::rename(&path, path.with_extension("toml"))?;
        }
    }
    Ok(0)
}

/// Which devices the target opens, and where the simulated one's library is.
fn environment(fuzzer: &mut Command, simulated: bool) -> anyhow::Result<()> {
    fuzzer.env("SNUFFER_DEVICES", if simulated { "cpu,sim:0" } else { "cpu" });
    if simulated {
        fuzzer.env("LD_LIBRARY_PATH", target()?.join("simulator/lib"));
    }
    Ok(())
}

fn fuzzer(
    binary: &Path,
    args: &Args,
    simulated: bool,
    corpus: &Path,
    artifacts: &Path,
    seconds: u64,
) -> anyhow::Result<Command> {
    let mut fuzzer = Command::new(binary);
    fuzzer.arg(corpus);
    let seeds = Path::new("corpora").join(&args.target);
    if seeds.is_dir() {
        fuzzer.arg(seeds);
    }
    fuzzer.arg(format!("-artifact_prefix={}/", artifacts.display())).arg(format!("-max_total_time={seconds}"));
    fuzzer.args(["-timeout=10", "-rss_limit_mb=4096", "-max_len=8192", "-print_final_stats=1"]).args(&args.options);
    let dictionary = Path::new("corpora/cases.dict");
    if CASES.contains(&args.target.as_str()) && dictionary.is_file() {
        fuzzer.arg(format!("-dict={}", dictionary.display()));
    }
    fuzzer.env("SNUFFER_FINDINGS", &args.store).env("SNUFFER_FUZZ_ARTIFACTS", artifacts);
    environment(&mut fuzzer, simulated)?;
    Ok(fuzzer)
}

/// Turns what the fuzzer kept into findings, and clears it away.
fn import(args: &Args, artifacts: &Path) -> anyhow::Result<u8> {
    let files: Vec<_> = std::fs::read_dir(artifacts)?.collect::<Result<_, _>>()?;
    if files.is_empty() {
        return Ok(0);
    }
    let mut snuffer = Command::new(target()?.join("debug/snuffer"));
    snuffer.arg("import").arg(artifacts).args(["--store", &args.store]);
    let code = status(args.devices.limit(&mut snuffer))?;
    if ![0, 2].contains(&code) {
        bail!("`snuffer import {}` ended with {code}; the files are still there", artifacts.display());
    }
    for file in files {
        std::fs::remove_file(file.path()).with_context(|| format!("cannot remove {}", file.path().display()))?;
    }
    Ok(code)
}
