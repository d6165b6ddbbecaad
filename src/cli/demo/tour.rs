//! The steps of the demo: what each shows, its command, and its run.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::{Context, bail};
use console::style;

use crate::cli::interrupts::stop_on_signal;
use crate::exit_code::Exit;
use crate::store::Store;

/// A step of the tour.
struct Step {
    /// What the reader sees.
    shows: &'static str,
    /// The arguments of `snuffer`. Words in capitals stand for paths and the finding's name.
    command: &'static str,
    /// Whether it takes `--device`.
    has_devices: bool,
    /// How many lines of its output are shown; the rest is in a file that the tour names.
    lines: Option<usize>,
    /// How it ends.
    ends: Exit,
}

/// All steps.
const STEPS: [Step; 5] = [
    Step {
        shows: "Replay the case. The first line says why it fails. `promised` is\n\
                what candle must do, and each device has a line with what it\n\
                does. The last line names the call that is to blame.",
        command: "replay CASE --blame",
        has_devices: true,
        lines: None,
        ends: Exit::Findings,
    },
    Step {
        shows: "Minimize it: a simpler case that fails in the same way.",
        command: "minimize CASE",
        has_devices: true,
        lines: None,
        ends: Exit::Findings,
    },
    Step {
        shows: "Keep the failure, as a hunt does. The canary first plants\n\
                faults, all of which must be noticed.",
        command: "import CASE --store STORE",
        has_devices: true,
        lines: None,
        ends: Exit::Findings,
    },
    Step {
        shows: "Report it to candle. --no-program omits the program that\n\
                shows it, which needs Rust.",
        command: "report FINDING --store STORE --into REPORTS --no-program",
        has_devices: false,
        lines: Some(45),
        ends: Exit::Clean,
    },
    Step {
        shows: "Write a site of everything in the store.",
        command: "site --store STORE --into SITE",
        has_devices: false,
        lines: None,
        ends: Exit::Clean,
    },
];

/// What to try after the tour.
const NEXT: [(&str, &str); 4] = [
    ("hunt --time 60s", "draws cases, and finds such failures"),
    ("ops", "lists what is tested, and what candle promises"),
    ("doctor", "shows what this machine has and lacks"),
    ("help", "lists all commands"),
];

/// The tour ends before its last step, without a word: it was interrupted, or nobody reads its output any more.
#[derive(Debug, thiserror::Error)]
#[error("the tour ended early, with {0}")]
pub struct Ended(pub i32);

/// The exit code after an interrupt at the terminal, and its signal.
const INTERRUPTED: (i32, i32) = (130, 2);
/// The exit code of a command whose output nobody reads any more.
const CLOSED_PIPE: i32 = 141;

/// A tour, with its files in a folder.
#[derive(Debug)]
pub struct Tour<'a> {
    folder: &'a Path,
    case: &'a Path,
    /// The devices, if they are not the default ones.
    devices: Option<String>,
    /// The finding's name, as soon as it is kept.
    finding: String,
    /// How `snuffer` was called, so that the commands can be copied.
    name: String,
    interrupted: Arc<AtomicBool>,
}

impl<'a> Tour<'a> {
    /// A tour with `case`, which is a file in `folder`.
    pub fn new(folder: &'a Path, case: &'a Path, devices: Option<String>) -> anyhow::Result<Self> {
        let name = std::env::args().next().unwrap_or_else(|| "snuffer".to_string());
        Ok(Self { folder, case, devices, finding: String::new(), name, interrupted: stop_on_signal()? })
    }

    /// Takes all steps. Returns the path of the page.
    pub fn walk(&mut self) -> anyhow::Result<PathBuf> {
        let begun = Instant::now();
        for (number, step) in (1..).zip(&STEPS) {
            println!("\n{}", style(format!("{number}. {}", step.shows.replace('\n', "\n   "))).bold());
            self.run(step)?;
        }
        let (report, page) =
            (self.path("REPORTS").join(&self.finding).join("report.md"), self.path("SITE").join("index.html"));
        println!("\nThe tour took {} s.", begun.elapsed().as_secs());
        println!("  report  {}\n  page    {}\n\nNext:", report.display(), page.display());
        let longest = NEXT.iter().map(|(command, _)| command.len()).max().unwrap_or_default();
        for (command, what) in NEXT {
            println!("  {} {command:<longest$}  {what}", self.name);
        }
        Ok(page)
    }

    fn run(&mut self, step: &Step) -> anyhow::Result<()> {
        if step.command.contains("FINDING") {
            let all = Store::existing(&self.path("STORE"))?.all()?;
            self.finding = all.into_iter().next().context("no finding was kept")?.0;
        }
        let mut words: Vec<String> = step.command.split(' ').map(|word| self.word(word)).collect();
        if let Some(devices) = self.devices.as_ref().filter(|_| step.has_devices) {
            words.extend(["--device".to_string(), devices.clone()]);
        }
        let shown = shlex::try_join(std::iter::once(&self.name).chain(&words).map(String::as_str))?;
        println!("{}", style(format!("$ {shown}")).cyan());
        let status = run(&words, step.lines)?;
        let (code, signal) = INTERRUPTED;
        match status.code() {
            _ if self.interrupted.load(Ordering::Relaxed) || status.signal() == Some(signal) => Err(Ended(code).into()),
            Some(CLOSED_PIPE) => Err(Ended(CLOSED_PIPE).into()),
            Some(code) if code == step.ends as i32 => Ok(()),
            _ => bail!("this step should end with exit code {}, but it ended with {status}", step.ends as i32),
        }
    }

    /// A word of a step's command as it is run.
    fn word(&self, word: &str) -> String {
        match word {
            "FINDING" => self.finding.clone(),
            "CASE" | "STORE" | "REPORTS" | "SITE" => self.path(word).to_string_lossy().into_owned(),
            _ => word.to_string(),
        }
    }

    /// The path that a word in capitals stands for.
    fn path(&self, word: &str) -> PathBuf {
        if word == "CASE" { self.case.to_path_buf() } else { self.folder.join(word.to_lowercase()) }
    }
}

/// Runs `snuffer` with `words`, and shows all of its output or its first `lines`.
fn run(words: &[String], lines: Option<usize>) -> anyhow::Result<ExitStatus> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(words);
    let Some(lines) = lines else { return command.status().context("cannot run snuffer") };
    let mut child = command.stdout(Stdio::piped()).spawn().context("cannot run snuffer")?;
    let printed = std::io::read_to_string(child.stdout.take().context("its output is a pipe")?)?;
    printed.lines().take(lines).for_each(|line| println!("{line}"));
    let more = printed.lines().count().saturating_sub(lines);
    if more > 0 {
        println!("… and {more} more lines");
    }
    child.wait().context("cannot wait for snuffer")
}
