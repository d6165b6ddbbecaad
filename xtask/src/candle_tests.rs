//! `cargo xtask candle-tests`: candle's own tests, on the simulated device or the CPU.
//!
//! A device's fault lasts until its process ends, so each test runs in a process of its own.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use device_record::{DETAIL, TITLE};
use snuffer_toolkit::Toolkit;
use wait_timeout::ChildExt;

use self::workspace::Test;
use crate::known::{KnownFailure, failure};
use crate::set_up;
use crate::shell::target;

mod exported;
mod workspace;

/// The tests that are known to fail, with how and why: one table per test.
const KNOWN: &str = "xtask/candle-tests.toml";
/// Time limit of one test.
const DEADLINE: Duration = Duration::from_secs(300);

/// Arguments of `cargo xtask candle-tests`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only tests whose name contains this.
    #[arg(long, default_value = "")]
    filter: String,
    /// Only list the tests.
    #[arg(long)]
    list: bool,
    /// Run the other tests, on the CPU.
    #[arg(long)]
    cpu: bool,
    /// A folder with candle-core, candle-nn and candle-kernels to test instead, such as `snuffer fixes build` writes.
    #[arg(long)]
    candle: Option<PathBuf>,
    /// Instead run the tests that `snuffer fixes export` writes, with all fixes and without: those of the CPU alone with `--cpu`.
    #[arg(long, conflicts_with_all = ["candle", "filter", "list"])]
    exported: bool,
}

enum Outcome {
    Pass,
    Fail(String),
    /// The simulator does not support what the test does.
    Unsupported(String),
    Timeout,
}

/// Builds the tests, runs those that are asked for, and compares the results with the known failures.
pub fn run(toolkit: &Toolkit, Args { filter, list, cpu, candle, exported }: &Args) -> anyhow::Result<u8> {
    let library = match toolkit {
        _ if *cpu => None,
        Toolkit::Installed(_) => None,
        // Libraries without code are enough to list the tests.
        Toolkit::Assembled(home) if *list => Some(home.join("lib")),
        Toolkit::Assembled(_) => Some(set_up::simulator()?),
    };
    let library = library.as_deref();
    let toolkit = (!cpu).then_some(toolkit);
    if *exported {
        return exported::run(toolkit, library, &logs()?);
    }
    let mut tests = Vec::new();
    for binary in workspace::build(toolkit, candle.as_deref())? {
        let chosen = |test: &Test| test.is_on_cuda() != *cpu && test.label().contains(filter);
        tests.extend(binary.tests(library)?.into_iter().filter(chosen));
    }
    if *list {
        let labels: Vec<_> = tests.iter().map(Test::label).collect();
        println!("{}", labels.join("\n"));
        return Ok(0);
    }
    ensure!(!tests.is_empty(), "none of candle's tests has `{filter}` in its name; `--list` shows them");
    let text = fs::read_to_string(KNOWN).with_context(|| format!("cannot read {KNOWN}"))?;
    let known: toml::Table = text.parse().with_context(|| format!("{KNOWN} is not valid TOML"))?;
    run_all(&tests, library, &known)
}

fn run_all(tests: &[Test], library: Option<&Path>, known: &toml::Table) -> anyhow::Result<u8> {
    let logs = logs()?;
    let queue = Mutex::new(tests.iter());
    let totals = Mutex::new(Totals::default());
    let work = || -> anyhow::Result<()> {
        loop {
            let Some(test) = queue.lock().expect("no thread panics").next() else { return Ok(()) };
            let begun = Instant::now();
            let outcome = run_one(test, library, &logs)?;
            let entry = known.get(&test.binary).and_then(|tests| tests.get(&test.name)).and_then(toml::Value::as_table);
            let failure = entry.map(|entry| KnownFailure::of(entry, KNOWN)).transpose()?;
            totals.lock().expect("no thread panics").add(test, &outcome, failure.as_ref(), begun.elapsed());
        }
    };
    thread::scope(|scope| {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("no thread panics"))
    })?;
    let totals = totals.into_inner().expect("no thread panics");
    let Totals { pass, fail, unsupported, timeout, unexpected } = totals;
    println!("{pass} pass, {fail} fail, {unsupported} unsupported, {timeout} timed out");
    println!("{unexpected} differ from {KNOWN}; logs: {}", logs.display());
    Ok(u8::from(unexpected > 0))
}

/// The folder of what the tests print.
fn logs() -> anyhow::Result<PathBuf> {
    let logs = target()?.join("candle-tests/logs");
    fs::create_dir_all(&logs)?;
    Ok(logs)
}

#[derive(Default)]
struct Totals {
    pass: usize,
    fail: usize,
    unsupported: usize,
    timeout: usize,
    /// Unknown failures, and known failures that pass or fail in another way.
    unexpected: usize,
}

impl Totals {
    /// Counts and prints a row of the table.
    fn add(&mut self, test: &Test, outcome: &Outcome, known: Option<&KnownFailure>, took: Duration) {
        let (word, count, why) = match outcome {
            Outcome::Pass => ("pass", &mut self.pass, ""),
            Outcome::Fail(why) => ("FAIL", &mut self.fail, why.as_str()),
            Outcome::Unsupported(why) => ("unsupported", &mut self.unsupported, why.as_str()),
            Outcome::Timeout => ("timeout", &mut self.timeout, ""),
        };
        *count += 1;
        println!("{word:<11} {:>6.1} s  {}", took.as_secs_f64(), test.label());
        if !why.is_empty() {
            println!("{:22}{why}", "");
        }
        match (outcome, known) {
            (Outcome::Pass, None) => {}
            (Outcome::Pass, Some(known)) => {
                self.unexpected += 1;
                println!("{:22}UNEXPECTED: passes, but is known to fail: {}", "", known.cause);
            }
            (Outcome::Fail(why), Some(known)) if why.contains(known.fails) => {
                println!("{:22}known: {}", "", known.cause);
            }
            (_, Some(known)) => {
                self.unexpected += 1;
                println!("{:22}UNEXPECTED: is known to fail with `{}`", "", known.fails);
            }
            (_, None) => self.unexpected += 1,
        }
    }
}

fn run_one(test: &Test, library: Option<&Path>, logs: &Path) -> anyhow::Result<Outcome> {
    let path = logs.join(format!("{}.txt", test.label().replace(['/', ' ', ':'], "-")));
    let mut log = File::create(&path)?;
    let mut command = test.command(library);
    let mut child = command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log.try_clone()?).spawn()?;
    let Some(status) = child.wait_timeout(DEADLINE)? else {
        child.kill()?;
        child.wait()?;
        return Ok(Outcome::Timeout);
    };
    let output = String::from_utf8_lossy(&fs::read(&path)?).into_owned();
    writeln!(log, "{status}")?;
    // libtest may print the test's name first on the same line.
    Ok(match output.lines().find_map(|line| line.split_once("snuffer-sim: unsupported: ")) {
        Some((_, what)) => Outcome::Unsupported(what.to_string()),
        // A test that passes although the device reports an error passed by chance; one that passes after an assertion expects it.
        None if status.success() && !output.lines().any(is_report) => Outcome::Pass,
        None => Outcome::Fail(format!("{} ({status})", failure(&output))),
    })
}

/// True for the first line of a report of the device that is not an assertion.
fn is_report(line: &str) -> bool {
    line.starts_with(TITLE) && !line.starts_with(DETAIL)
}
