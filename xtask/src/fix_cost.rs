//! `cargo xtask fix-cost`: what all fixes of candle cost, or save, where models spend their time.
//!
//! One program is built twice, with candle as released and with all fixes, as users build it. Both run in turn.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};

use crate::set_up::{self, build};
use crate::shell::{cargo, say, status, target};

const PROGRAM: &str = include_str!("fix_cost/hot_paths.rs");

/// The packages that a fix may change.
const PACKAGES: [&str; 3] = ["candle-core", "candle-nn", "candle-kernels"];

/// Arguments of `cargo xtask fix-cost`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Time CUDA kernels on the GPU instead of the CPU backend.
    #[arg(long)]
    cuda: bool,
    /// Build both programs without running them: for a machine with a GPU and no Rust.
    #[arg(long)]
    build: bool,
    /// How many times to run both programs. The median counts.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Only calls whose names contain this, such as `max`.
    #[arg(long, default_value = "")]
    only: String,
}

/// A program, and what its folder and executable are called.
struct Build {
    name: &'static str,
    /// The folder of candle's crates with fixes.
    fixed: Option<PathBuf>,
}

/// Builds both programs, runs them in turn, and prints how the times of each call compare.
pub fn run(args: &Args) -> anyhow::Result<u8> {
    let folder = target()?.join("fix-cost");
    let candle = folder.join("candle");
    set_up::snuffer()?;
    if candle.exists() {
        fs::remove_dir_all(&candle).with_context(|| format!("cannot remove {}", candle.display()))?;
    }
    let mut fixes = Command::new(target()?.join("debug/snuffer"));
    fixes.args(["fixes", "build", "--into"]).arg(&candle).stdout(Stdio::null());
    ensure!(status(&mut fixes)? == 0, "`snuffer fixes build` failed");
    let builds = [Build { name: "released", fixed: None }, Build { name: "fixed", fixed: Some(candle) }];
    let programs = builds.iter().map(|build| build.program(&folder, args.cuda)).collect::<Result<Vec<_>, _>>()?;
    if args.build {
        for program in &programs {
            println!("{}", program.display());
        }
        return Ok(0);
    }
    let device = if args.cuda { "cuda" } else { "cpu" };
    let mut times: [BTreeMap<String, Vec<u64>>; 2] = Default::default();
    for round in 0..args.rounds {
        say(&format!("round {} of {}", round + 1, args.rounds));
        for (program, times) in programs.iter().zip(&mut times) {
            for (call, time) in read(&measured(program, device, &args.only)?)? {
                times.entry(call).or_default().push(time);
            }
        }
    }
    print!("{}", table(&times));
    Ok(0)
}

impl Build {
    /// Builds the program in a workspace of its own below `folder`. Returns its path.
    fn program(&self, folder: &Path, cuda: bool) -> anyhow::Result<PathBuf> {
        let (name, own) = (self.name, folder.join(self.name));
        fs::create_dir_all(own.join("src"))?;
        fs::write(own.join("Cargo.toml"), self.manifest()?)?;
        fs::write(own.join("src/main.rs"), PROGRAM)?;
        fs::copy("Cargo.lock", own.join("Cargo.lock"))?;
        let (mut cargo, into) = (cargo(), folder.join("target"));
        cargo.current_dir(&own).env("CARGO_TARGET_DIR", &into).args(["build", "--release"]);
        if cuda {
            set_up::toolkit()?.equip(&mut cargo)?;
            cargo.args(["--features", "cuda"]);
        }
        build(&format!("hot paths with candle as {name}"), "five minutes the first time", &mut cargo)?;
        Ok(into.join("release").join(self.executable()))
    }

    fn executable(&self) -> String {
        format!("hot-paths-{}", self.name)
    }

    fn manifest(&self) -> anyhow::Result<String> {
        let ours: toml::Table = fs::read_to_string("Cargo.toml")?.parse()?;
        let version = ours["dependencies"]["candle-core"].as_str().context("the version of candle is a text")?;
        let patches = self.fixed.iter().flat_map(|candle| PACKAGES.map(|name| (name, candle.join(name))));
        let line = |(name, folder): (&str, PathBuf)| format!("{name} = {{ path = '{}' }}", folder.display());
        let patches: Vec<String> = patches.filter(|(_, folder)| folder.is_dir()).map(line).collect();
        let executable = self.executable();
        Ok(format!(
            "[package]\nname = \"{executable}\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n\
             [workspace]\n\n\
             [features]\ncuda = [\"candle-core/cuda\", \"candle-nn/cuda\"]\n\n\
             [dependencies]\ncandle-core = \"{version}\"\ncandle-nn = \"{version}\"\n\n\
             [patch.crates-io]\n{}\n",
            patches.join("\n")
        ))
    }
}

/// What a program prints. It runs on one thread: more of them would share the processor with whatever else runs.
fn measured(program: &Path, device: &str, only: &str) -> anyhow::Result<String> {
    let output = Command::new(program).args([device, only]).env("RAYON_NUM_THREADS", "1").output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{} failed: {}", program.display(), said.trim());
    Ok(String::from_utf8(output.stdout)?)
}

/// The times in what a program printed.
fn read(printed: &str) -> anyhow::Result<Vec<(String, u64)>> {
    let one = |line: &str| {
        let (call, time) = line.split_once('\t').with_context(|| format!("`{line}` has no time"))?;
        Ok((call.to_string(), time.parse()?))
    };
    printed.lines().map(one).collect()
}

/// A row for each call, the dearest with fixes first.
fn table([released, fixed]: &[BTreeMap<String, Vec<u64>>; 2]) -> String {
    let median = |times: &[u64]| {
        let mut times = times.to_vec();
        times.sort_unstable();
        times[times.len() / 2] as f64
    };
    let row = |(call, times): (&String, &Vec<u64>)| {
        let (before, after) = (median(times), median(fixed.get(call)?));
        Some((after / before, call.clone(), before, after))
    };
    let mut rows: Vec<_> = released.iter().filter_map(row).collect();
    rows.sort_by(|(one, ..), (other, ..)| other.total_cmp(one));
    let line = |(ratio, call, before, after): &(f64, String, f64, f64)| {
        format!("| {call} | {:.1} µs | {:.1} µs | {ratio:.2} |", before / 1e3, after / 1e3)
    };
    let lines: Vec<String> = rows.iter().map(line).collect();
    format!("| call | released | with all fixes | times |\n|---|---|---|---|\n{}\n", lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::{read, table};

    #[test]
    fn the_median_of_each_call_is_compared_and_the_dearest_comes_first() {
        let times = |rounds: &[&str]| {
            let mut all = std::collections::BTreeMap::<String, Vec<u64>>::new();
            for (call, time) in rounds.iter().flat_map(|round| read(round).expect("times")) {
                all.entry(call).or_default().push(time);
            }
            all
        };
        let released = times(&["sum\t1000\nmax\t4000", "sum\t9000\nmax\t4000", "sum\t2000\nmax\t4000"]);
        let fixed = times(&["sum\t3000\nmax\t1000", "sum\t3000\nmax\t1000", "sum\t3000\nmax\t1000"]);
        let table = table(&[released, fixed]);
        let rows: Vec<&str> = table.lines().skip(2).collect();
        assert_eq!(rows, ["| sum | 2.0 µs | 3.0 µs | 1.50 |", "| max | 4.0 µs | 1.0 µs | 0.25 |"]);
        assert!(read("sum 3").is_err());
    }
}
