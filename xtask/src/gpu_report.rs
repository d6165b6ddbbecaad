//! `cargo xtask gpu-report`: everything that only a machine with a GPU can answer, within a budget, as one document.
//!
//! Each question's output is kept. A run that was stopped goes on with the first question that has no answer yet. The archive of
//! `cargo xtask dist --gpu` has the same command, for machines without Rust.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context;
use snuffer_toolkit::Toolkit;
use wait_timeout::ChildExt;

use self::questions::{By, QUESTIONS, Question};
use crate::dist;
use crate::set_up::{self, Devices};
use crate::shell::{say, target};

mod each_test;
mod questions;

/// How many of the last lines of an output the document shows.
const SHOWN: usize = 40;

/// Arguments of `cargo xtask gpu-report`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Answer each question with a few cases, in minutes, to test the command itself.
    #[arg(long)]
    short: bool,
    /// The document to write.
    #[arg(long, default_value = "docs/gpu/REPORT.md")]
    into: PathBuf,
    /// Repeat questions that already have an answer.
    #[arg(long)]
    again: bool,
    /// How many seconds all questions together may take; the most important come first.
    #[arg(long, default_value_t = 3600)]
    budget: u64,
    /// Use the programs of an unpacked archive.
    #[arg(long, hide = true)]
    pub unpacked: bool,
}

/// What the questions are asked with.
struct Tools {
    toolkit: Toolkit,
    /// The tests of devices.
    tests: PathBuf,
}

impl Tools {
    /// Those of the unpacked archive in this folder, or of the checkout, built first.
    fn of(args: &Args) -> anyhow::Result<Self> {
        let lacks = "this machine lacks a GPU or a CUDA toolkit, and the questions need both";
        let toolkit = Toolkit::installed().context(lacks)?;
        if args.unpacked {
            return Ok(Self { toolkit, tests: target()?.join("debug/deps/devices") });
        }
        let toolkit = set_up::everything(Devices::ALL)?.toolkit.context("the toolkit was there a moment ago")?;
        Ok(Self { toolkit, tests: dist::gpu::tests()? })
    }

    /// Gives a command the toolkit, and the libraries that its workers need: a program that was built elsewhere names none.
    fn equip(&self, command: &mut Command) -> anyhow::Result<()> {
        self.toolkit.equip(command)?;
        if let Toolkit::Installed(home) = &self.toolkit {
            let own = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
            let libraries = ["lib64", "targets/x86_64-linux/lib"].map(|folder| home.join(folder));
            command.env("LD_LIBRARY_PATH", std::env::join_paths(std::env::split_paths(&own).chain(libraries))?);
        }
        // What the driver compiles of candle's kernels, and of each mutant, has to stay.
        command.env("CUDA_CACHE_MAXSIZE", "4294967296").env("NO_COLOR", "1");
        Ok(())
    }
}

/// What became of a question.
enum Answer {
    /// The command ended with this exit code after so many seconds.
    Ended(u8, u64),
    /// It was not asked, and why.
    NotAsked(String),
}

/// Asks every question, and writes the document.
pub fn run(args: &Args) -> anyhow::Result<u8> {
    let tools = Tools::of(args)?;
    let folder = target()?.join("gpu-report").join(if args.short { "short" } else { "long" });
    // Commands are shown, so their paths are those that a person types.
    let folder = folder.strip_prefix(std::env::current_dir()?).map(Path::to_path_buf).unwrap_or(folder);
    if args.again && folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    // Answers of other sources are no answers.
    let version = version();
    let stamp = folder.join("version");
    if fs::read_to_string(&stamp).is_ok_and(|old| old != version) {
        fs::remove_dir_all(&folder)?;
        fs::create_dir_all(&folder)?;
    }
    fs::write(&stamp, &version)?;
    let begun = Instant::now();
    let mut answers = Vec::new();
    for question in QUESTIONS {
        let left = Duration::from_secs(args.budget).saturating_sub(begun.elapsed());
        answers.push((question, answer(question, args.short, &folder, left, &tools)?));
        // Written after each answer: a run that is stopped leaves what it has.
        write(&args.into, &answers, &folder, &version, args.short)?;
    }
    say(&format!("wrote {}", args.into.display()));
    let failed: Vec<_> = answers.iter().filter(|(question, answer)| question.has_failed(answer)).collect();
    for (question, answer) in &failed {
        let Answer::Ended(code, _) = answer else { continue };
        let output = output(question, &folder);
        say(&format!(
            "{}: {}; {} ends with",
            question.line(args.short, &folder),
            question.said(*code),
            output.display()
        ));
        eprintln!("{}", last_lines(&output));
    }
    Ok(u8::from(!failed.is_empty()))
}

/// Asks a question, unless its answer is kept.
fn answer(question: &Question, short: bool, folder: &Path, left: Duration, tools: &Tools) -> anyhow::Result<Answer> {
    let kept = folder.join(question.name).with_extension("ended");
    if let Ok(text) = fs::read_to_string(&kept) {
        let mut numbers = text.split_whitespace().map(str::parse::<u64>);
        if let (Some(Ok(code)), Some(Ok(seconds))) = (numbers.next(), numbers.next()) {
            return Ok(Answer::Ended(code as u8, seconds));
        }
    }
    if let Some(tool) = question.needs.filter(|tool| !runs(tool)) {
        return Ok(Answer::NotAsked(format!("{tool} is missing")));
    }
    if left < Duration::from_secs(10) {
        return Ok(Answer::NotAsked("the time is over; run the command again to continue".to_string()));
    }
    let line = question.line(short, folder);
    say(&format!("{}: {line}", question.text));
    let (mut output, begun) = (File::create(output(question, folder))?, Instant::now());
    let args = question.args(short, folder);
    let code = match question.by {
        By::Tests => {
            let names: Vec<&str> = args.iter().map(String::as_str).collect();
            let of = ("cuda:0", &names[..]);
            let (until, folder) = (begun + left, folder.join("tests"));
            u8::from(!each_test::run(&tools.tests, of, &folder, &mut output, until, |test| tools.equip(test))?)
        }
        By::Snuffer => {
            let mut command = Command::new(target()?.join("debug/snuffer"));
            tools.equip(&mut command)?;
            command.args(args).env("SNUFFER_FINDINGS", folder.join("findings"));
            let mut child = command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output).spawn()?;
            let Some(status) = child.wait_timeout(left)? else {
                child.kill()?;
                child.wait()?;
                return Ok(Answer::NotAsked("the time was over before it ended; run the command again".to_string()));
            };
            status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(5)
        }
    };
    let seconds = begun.elapsed().as_secs();
    let answer = Answer::Ended(code, seconds);
    // A question that failed is asked again.
    if !question.has_failed(&answer) {
        fs::write(kept, format!("{code} {seconds}\n"))?;
    }
    Ok(answer)
}

fn runs(tool: &str) -> bool {
    Command::new(tool).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}

fn output(question: &Question, folder: &Path) -> PathBuf {
    folder.join(question.name).with_extension("txt")
}

/// The last lines of an output.
fn last_lines(output: &Path) -> String {
    let printed = fs::read_to_string(output).unwrap_or_default();
    let lines: Vec<&str> = printed.lines().collect();
    lines[lines.len().saturating_sub(SHOWN)..].join("\n")
}

/// The first line that a command prints, or a dash.
fn first_line(program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).output().ok().filter(|output| output.status.success());
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    text.lines().next().unwrap_or("-").to_string()
}

/// The version of the sources: the archive has it in a file.
pub fn version() -> String {
    fs::read_to_string("version").unwrap_or_else(|_| first_line("git", &["describe", "--always", "--dirty"]))
}

/// Writes the document: a table with a row for each question, and the end of each output.
fn write(
    into: &Path,
    answers: &[(&Question, Answer)],
    folder: &Path,
    version: &str,
    short: bool,
) -> anyhow::Result<()> {
    let mut text = format!(
        "# On a GPU\n\nWritten by `cargo xtask gpu-report{}` on {}, snuffer {version}.\n\n- {}\n- nvcc: {}\n\n\
         | question | answer | time | command |\n|---|---|---|---|\n",
        if short { " --short" } else { "" },
        first_line("date", &["+%Y-%m-%d"]),
        first_line("nvidia-smi", &["-L"]),
        nvcc_release(),
    );
    for (question, answer) in answers {
        let (said, time) = match answer {
            Answer::Ended(code, seconds) => (question.said(*code), format!("{seconds} s")),
            Answer::NotAsked(why) => (format!("**not run**: {why}"), "-".to_string()),
        };
        text += &format!("| {} | {said} | {time} | `{}` |\n", question.text, question.line(short, folder));
    }
    for (question, _) in answers.iter().filter(|(_, answer)| matches!(answer, Answer::Ended(..))) {
        text += &format!("\n## {}\n\n", question.text);
        // A command that writes a document says all there.
        if let Ok(document) = fs::read_to_string(folder.join(question.name).with_extension("md")) {
            text += format!("\n{document}").replace("\n#", "\n###").trim_start();
            continue;
        }
        text += &format!("```text\n{}\n```\n", last_lines(&output(question, folder)));
    }
    if let Some(parent) = into.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        fs::create_dir_all(parent)?;
    }
    fs::write(into, text).with_context(|| format!("cannot write {}", into.display()))
}

fn nvcc_release() -> String {
    let printed = Command::new("nvcc").arg("--version").output().map(|output| output.stdout).unwrap_or_default();
    let printed = String::from_utf8_lossy(&printed).into_owned();
    printed.lines().find(|line| line.contains("release")).unwrap_or("-").trim().to_string()
}
