//! NVIDIA's `compute-sanitizer`: its tools, where it is, and how it starts the worker of a GPU.
//!
//! The options and the form of its output are those of version 2026.4 (CUDA 13.5) and 2025.2 (CUDA 12.9): their manual, their
//! `--help`, and the texts in their programs.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::named_path::path_from;
use crate::device::Device;

/// A tool of `compute-sanitizer`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sanitizer {
    /// Bounds, alignment and lifetime of memory.
    Memcheck,
    /// Reads of global memory that was never written.
    Initcheck,
    /// Unordered accesses to shared memory.
    Racecheck,
    /// Barriers that not all threads reach.
    Synccheck,
}

/// `compute-sanitizer` cannot be used, and what to do.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Unusable(String);

/// The tool does not report the fault that is planted after each case.
#[derive(Debug, thiserror::Error)]
#[error(
    "compute-sanitizer did not report the fault that is planted after each case, `{mark}`, so its silence proves nothing; \
     its last line: {last_line}"
)]
pub struct Silent {
    /// The kernel with the planted fault.
    pub mark: String,
    /// The last line that it printed.
    pub last_line: String,
}

const PROGRAM: &str = "compute-sanitizer";

/// The variable that names the program.
const VARIABLE: &str = "SNUFFER_COMPUTE_SANITIZER";

/// What brings the program.
const ADVICE: &str = "install it with the CUDA toolkit or with `pip install nvidia-cuda-sanitizer-api`, and put it on \
                      PATH or set SNUFFER_COMPUTE_SANITIZER to its path";

/// The options of every tool. The exit code is no sign (`--error-exitcode`): a worker serves many cases, and the text says
/// which of them the tool means.
const OPTIONS: [(&str, &str); 8] = [
    // A limit counts for the whole process: the reports of one case would use up those of later ones.
    ("--print-limit", "0"),
    // Seconds until the worker must have called CUDA. It opens its device first.
    ("--launch-timeout", "60"),
    // A worker starts no other process.
    ("--target-processes", "application-only"),
    // The names of kernels as in the PTX, and files with their folders: a place names the crate.
    ("--demangle", "no"),
    ("--strip-paths", "no"),
    // Host frames are the same for every case, and take most of the time.
    ("--show-backtrace", "device"),
    // Only the kernel ends, as far as the tool can. Otherwise each report would cost a process.
    ("--destroy-on-device-error", "kernel"),
    // candle's own handling of an error is for other oracles.
    ("--report-api-errors", "no"),
];

/// What the tool or its output says if it starts no worker.
pub const FAILURES: [(&str, &str); 4] = [
    ("terminated before first instrumented API call", FAILED),
    ("No attachable process found", FAILED),
    ("Unable to find injection library", FAILED),
    ("Could not connect to target", FAILED),
];

const FAILED: &str =
    "compute-sanitizer cannot start a worker here; use one that is as new as the driver, or omit --sanitizer";

impl Sanitizer {
    /// Every tool.
    pub const ALL: [Self; 4] = [Self::Memcheck, Self::Initcheck, Self::Racecheck, Self::Synccheck];

    /// How many times the deadline a case has under a tool. The manual names no number; instrumented kernels are often ten
    /// times as slow, and a slow case is no hang.
    pub const SLOWDOWN: u32 = 20;

    /// Its name, as an argument of `--tool`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Memcheck => "memcheck",
            Self::Initcheck => "initcheck",
            Self::Racecheck => "racecheck",
            Self::Synccheck => "synccheck",
        }
    }

    /// The `number`-th kernel that does what this tool must report (`ops/canary/marks.ptx`), and that no case of candle has.
    pub fn mark(self, number: u64) -> String {
        format!("mark_{self}_{}", number % 2)
    }

    /// This tool, if a worker of `device` runs under it.
    pub fn of(device: Device, tool: Option<Self>) -> Option<Self> {
        tool.filter(|_| matches!(device, Device::Cuda(_)))
    }

    /// Whether the program is there, starts, and has every option.
    pub fn check() -> Result<(), Unusable> {
        let path = program()?;
        let shown = path.display();
        let run = |argument: &str| Command::new(&path).arg(argument).stdin(Stdio::null()).output();
        let help = run("--help").map_err(|error| Unusable(format!("{shown} does not start: {error}; {ADVICE}")))?;
        let help = String::from_utf8_lossy(&help.stdout).into_owned();
        let has = |option: &str| help.split_whitespace().any(|word| word == option);
        let Some((missing, _)) = OPTIONS.into_iter().find(|(option, _)| !has(option)) else { return Ok(()) };
        let version = run("--version").map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        let version =
            version.ok().and_then(|text| Some(text.lines().find(|line| line.starts_with("Version"))?.to_string()));
        let version = version.map(|version| format!(" ({version})")).unwrap_or_default();
        Err(Unusable(format!("{shown}{version} has no option `{missing}`: it is too old; {ADVICE}")))
    }

    /// The command that starts `worker` under this tool.
    pub fn start(self, worker: &Command) -> Result<Command, Unusable> {
        let mut command = Command::new(program()?);
        command.args(["--tool", self.name()]).args(OPTIONS.into_iter().flat_map(|(option, value)| [option, value]));
        command.arg(worker.get_program()).args(worker.get_args());
        for (name, value) in worker.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        Ok(command)
    }
}

/// The path of the program: the value of its variable, or else on `PATH`, or else in the CUDA toolkit.
fn program() -> Result<PathBuf, Unusable> {
    if let Some(path) = path_from(VARIABLE, Path::is_file).map_err(|error| Unusable(error.to_string()))? {
        return Ok(path);
    }
    let on_path = std::env::var_os("PATH").unwrap_or_default();
    let toolkit = std::env::var_os("CUDA_HOME").unwrap_or_else(|| OsString::from("/usr/local/cuda"));
    let folders = std::env::split_paths(&on_path).chain([PathBuf::from(toolkit).join("bin")]);
    let mut candidates = folders.map(|folder| folder.join(PROGRAM));
    candidates.find(|path| path.is_file()).ok_or_else(|| Unusable(format!("{PROGRAM} is missing; {ADVICE}")))
}

impl FromStr for Sanitizer {
    type Err = String;
    fn from_str(name: &str) -> Result<Self, String> {
        let known = Self::ALL.map(Self::name).join("`, `");
        let found = Self::ALL.into_iter().find(|tool| tool.name() == name);
        found.ok_or_else(|| format!("`{name}` is not a tool of {PROGRAM}; use one of `{known}`"))
    }
}

impl std::fmt::Display for Sanitizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
