//! A command of the user's from its start to the summary. Its processes find it by an environment variable.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use serde::{Deserialize, Serialize};

use crate::REPORTED;
use crate::arguments::Options;
use crate::home::Home;
use crate::process::Watch;
use crate::record::{Files, Seen};
use crate::report::Summary;
use crate::suppressions::Suppressions;
use crate::test_result::TestResult;

/// The variable that names the folder of the session.
const VARIABLE: &str = "SNUFFER_SESSION";

/// What processes of a session know.
#[derive(Serialize, Deserialize)]
pub struct Session {
    folder: PathBuf,
    pub options: Options,
    /// Whether binaries are tests, not programs.
    pub runs_tests: bool,
    /// The user's words: `test` and the arguments of Cargo.
    args: Vec<String>,
}

impl Session {
    /// The session that this process belongs to.
    pub fn from_environment() -> anyhow::Result<Self> {
        let folder = std::env::var_os(VARIABLE).context("this command is for Cargo; run `cargo snuffer test`")?;
        let file = Path::new(&folder).join("session.json");
        let text = std::fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
        Ok(serde_json::from_slice(&text)?)
    }

    /// Keeps a result for the summary.
    pub fn keep(&self, result: &TestResult) -> anyhow::Result<()> {
        let file = tempfile::Builder::new().suffix(".json").tempfile_in(self.results())?;
        serde_json::to_writer(&file, result)?;
        file.keep().context("cannot keep a result")?;
        Ok(())
    }

    /// Where the device writes of processes that no runner started.
    fn files_of_others(&self) -> Files {
        Files::new(&self.folder, "others-")
    }

    /// What the device wrote of them, if anything.
    fn others(&self) -> Option<TestResult> {
        let Seen { launches, library_calls, known, records } = self.files_of_others().read();
        let others = TestResult { launches, library_calls, known, records, ..TestResult::new("other processes", None) };
        (others.worked() || !others.records.is_empty()).then_some(others)
    }

    fn results(&self) -> PathBuf {
        self.folder.join("results")
    }

    /// Writes down what its processes must know.
    fn begin(folder: &Path, options: &Options, what: &str) -> anyhow::Result<Self> {
        let args = options.args.iter().map(|arg| arg.to_string_lossy().into_owned());
        let args = std::iter::once(what.to_string()).chain(args).collect();
        let runs_tests = ["test", "nextest"].contains(&what);
        let session = Self { folder: folder.to_path_buf(), options: options.clone(), runs_tests, args };
        std::fs::create_dir(session.results())?;
        std::fs::write(folder.join("session.json"), serde_json::to_vec(&session)?)?;
        Ok(session)
    }

    /// The command that runs one test again.
    fn again(&self, test: &str) -> String {
        let args = self.args.iter().take_while(|arg| *arg != "--").map(String::as_str);
        let words = ["cargo", "snuffer"].into_iter().chain(args).chain(["--", "--exact", test]);
        shlex::try_join(words).unwrap_or_default()
    }

    /// Prints and writes the summary. Returns the code to end with, if the tests themselves ended with `code`.
    fn end(&self, suppressions: &Suppressions, code: u8) -> anyhow::Result<u8> {
        let mut results = TestResult::all(&self.results())?;
        results.extend(self.others());
        if results.is_empty() && code != 0 {
            // Cargo has said why.
            return Ok(code);
        }
        let summary = Summary::of(results, suppressions, |test| self.again(test));
        eprint!("{}", summary.text());
        let Options { junit, sarif, json, fail_on, .. } = &self.options;
        write(junit.as_deref(), || summary.junit(*fail_on))?;
        write(sarif.as_deref(), || summary.sarif())?;
        write(json.as_deref(), || summary.json())?;
        Ok(if code == 0 && summary.reaches(*fail_on) { REPORTED } else { code })
    }
}

/// Writes what `text` makes to a file, if one is named.
fn write(file: Option<&Path>, text: impl FnOnce() -> anyhow::Result<String>) -> anyhow::Result<()> {
    let Some(file) = file else { return Ok(()) };
    std::fs::write(file, text()?).with_context(|| format!("cannot write {}", file.display()))
}

/// Runs `cargo WHAT` with the user's arguments, and each of its binaries on the simulated device.
pub fn cargo(what: &str, options: &Options) -> anyhow::Result<u8> {
    let suppressions = Suppressions::read(options.suppress.as_deref())?;
    let home = Home::ready(false)?;
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let session = Session::begin(folder.path(), options, what)?;
    let own = std::env::current_exe()?;
    let runner = serde_json::to_string(&[own.to_str().context("this program's path is not text")?, "runner"])?;
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // By an option, not by a variable, which cannot name a path with a space.
    cargo.arg("--config").arg(format!("target.'cfg(unix)'.runner={runner}")).arg(what).args(&options.args);
    home.equip(&mut cargo)?;
    watched(&mut cargo, &home, &session);
    let status = cargo.status().context("cannot run cargo")?;
    let code = status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
    session.end(&suppressions, code)
}

/// Runs a program that is built already on the simulated device.
pub fn program(options: &Options) -> anyhow::Result<u8> {
    let suppressions = Suppressions::read(options.suppress.as_deref())?;
    let args: Vec<&OsStr> = options.args.iter().map(AsRef::as_ref).skip_while(|arg| *arg == "--").collect();
    ensure!(!args.is_empty(), "name a program: cargo snuffer exec -- ./program");
    let home = Home::ready(false)?;
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let session = Session::begin(folder.path(), options, "exec")?;
    let binary = Path::new(args[0]).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let watch = Watch { binary, test: None, keeps_output: false, timeout: None };
    let mut command = Command::new(args[0]);
    watched(command.args(&args[1..]), &home, &session);
    let (result, status) = watch.run(&mut command)?;
    session.keep(&result)?;
    let code = status.and_then(|status| status.code()).and_then(|code| u8::try_from(code).ok());
    session.end(&suppressions, code.unwrap_or(1))
}

/// The device's variables, unless the user has set them: one run shows all that a kernel does wrong, also in other orders of its threads.
/// A launch may execute about a minute's instructions: a loop that does not end is found by itself, or by the time limit, and one that
/// ends late is the program's choice.
const DEFAULTS: [(&str, &str); 3] =
    [("SNUFFER_SIM_BUDGET", "20000000000"), ("SNUFFER_SIM_AFTER_FAULT", "continue"), ("SNUFFER_SIM_ORDERS", "4")];

/// Lets `command` and all that it starts find the session and the simulated device.
fn watched(command: &mut Command, home: &Home, session: &Session) {
    let Options { checks, devices, .. } = &session.options;
    command.env(VARIABLE, &session.folder).env("LD_LIBRARY_PATH", &home.libraries);
    for (name, value) in DEFAULTS.iter().filter(|(name, _)| std::env::var_os(name).is_none()) {
        command.env(name, value);
    }
    command.env("SNUFFER_SIM_CHECKS", checks).env("SNUFFER_SIM_DEVICES", devices.to_string());
    // That is the user's choice among GPUs.
    command.env_remove("CUDA_VISIBLE_DEVICES");
    session.files_of_others().name(command);
}
