//! `cargo xtask bench`: how fast the simulated device and hunts are, as a page of the book. All figures are of one machine and one run,
//! so only their ratios say something elsewhere.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};

use crate::set_up::{self, Devices};
use crate::shell::{cargo, say};

/// The page.
const PAGE: &str = "docs/performance.md";

/// A bench, with the section of the page that it fills.
struct Bench {
    title: &'static str,
    about: &'static str,
    command: &'static str,
}

const BENCHES: [Bench; 2] = [
    Bench {
        title: "The simulated device",
        about: "Kernels of candle by class, on few and many elements, without checkers, with each of them and with all.",
        command: "bench --locked --package snuffer-simulator --bench device",
    },
    Bench {
        title: "Cases",
        about: "The same small valid cases of all ops, run twice, with gradients, and judged: in this process, by workers, and each in a \
                new worker. Overflow checks are on, as in hunts.",
        command: "bench --locked --profile dev --bench throughput",
    },
];

/// Arguments of `cargo xtask bench`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Write the page although other processes are busy.
    #[arg(long)]
    busy: bool,
}

/// Builds everything, runs all benches, and writes the page. Returns 0.
pub fn run(args: &Args) -> anyhow::Result<u8> {
    /// More waiting processes than this share the processors with a bench.
    const QUIET: f64 = 0.5;
    let load = load()?;
    ensure!(args.busy || load < QUIET, "the load is {load}: wait until the machine is quiet, or add --busy");
    set_up::everything(Devices::ALL)?;
    let mut page = format!("# Performance\n\nMade by `cargo xtask bench` {}.\n", circumstances(load)?);
    for Bench { title, about, command } in BENCHES {
        say(&format!("cargo {command}"));
        let output = cargo().args(command.split(' ')).output().context("cannot run cargo")?;
        ensure!(output.status.success(), "`cargo {command}` failed:\n{}", String::from_utf8_lossy(&output.stderr));
        let printed = String::from_utf8(output.stdout)?;
        page += &format!("\n## {title}\n\n{about} `cargo {command}`:\n\n```text\n{}\n```\n", printed.trim());
    }
    fs::write(PAGE, page).with_context(|| format!("cannot write {PAGE}"))?;
    println!("{PAGE}");
    Ok(0)
}

/// When, of which commit, and on which machine.
fn circumstances(load: f64) -> anyhow::Result<String> {
    let date = printed(Command::new("date").args(["-u", "+%Y-%m-%d"]))?;
    let commit = printed(Command::new("git").args(["rev-parse", "--short=8", "HEAD"]))?;
    let cores = std::thread::available_parallelism()?;
    let processors = fs::read_to_string("/proc/cpuinfo")?;
    let model = processors.lines().find_map(|line| line.strip_prefix("model name")?.split(": ").nth(1));
    Ok(format!("on {date}, at `{commit}`, with {cores} cores ({}), at a load of {load}", model.unwrap_or("unknown")))
}

fn printed(command: &mut Command) -> anyhow::Result<String> {
    let output = command.output().with_context(|| format!("cannot run {}", command.get_program().display()))?;
    Ok(String::from_utf8(output.stdout)?.trim().to_string())
}

/// The processes that wait for a processor, as the mean of the last minute.
fn load() -> anyhow::Result<f64> {
    let text = fs::read_to_string(Path::new("/proc/loadavg"))?;
    text.split(' ').next().and_then(|mean| mean.parse().ok()).context("/proc/loadavg has no mean")
}
