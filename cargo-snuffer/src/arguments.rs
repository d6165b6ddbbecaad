//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use serde::{Deserialize, Serialize};

/// Run any program that uses CUDA on a simulated CUDA device, which checks every access. No GPU is needed.
#[derive(Debug, Parser)]
#[command(name = "cargo snuffer", bin_name = "cargo snuffer", version, max_term_width = 80)]
pub struct Cargo {
    #[command(subcommand)]
    pub task: Task,
}

#[derive(Debug, Subcommand)]
pub enum Task {
    /// Run tests, each in its own process: `cargo test` with all its arguments.
    #[command(after_help = ARGUMENTS)]
    Test(Options),
    /// Run tests with cargo-nextest: `cargo nextest` with all its arguments, such as `run`.
    #[command(after_help = ARGUMENTS)]
    Nextest(Options),
    /// Run a binary or an example of your package: `cargo run` with all its arguments.
    #[command(after_help = ARGUMENTS)]
    Run(Options),
    /// Run a program that is already built.
    Exec(Options),
    /// Fetch NVIDIA's compiler and build the simulated device. The other commands do this when it is needed.
    Setup {
        /// Do not ask.
        #[arg(long)]
        yes: bool,
        /// Also fetch NVIDIA's NVRTC, for programs that compile kernels while they run.
        #[arg(long)]
        nvrtc: bool,
    },
    /// Show what is set up and what this machine lacks.
    Doctor,
    /// What Cargo runs in place of a test binary or program.
    #[command(hide = true)]
    Runner {
        /// The binary and its arguments.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
        command: Vec<OsString>,
    },
}

const ARGUMENTS: &str = "Put the options of `cargo snuffer` first. Everything from the first other argument goes to Cargo: \
    `cargo snuffer test --junit out.xml --features cuda -- --nocapture`.";

/// What to watch and what to write.
#[derive(Debug, Clone, Args, Serialize, Deserialize)]
pub struct Options {
    /// The checkers to run: `all`, `none`, or some of `initialization`, `races`, `streams`, `arithmetic` and `loops`. Bounds,
    /// lifetime and barriers are always checked.
    #[arg(long, default_value = "all")]
    pub checks: String,
    /// The least severe finding that makes the command fail although all tests pass.
    #[arg(long, value_enum, default_value_t = FailOn::Report)]
    pub fail_on: FailOn,
    /// A file with known findings to ignore. By default `snuffer-suppressions.toml` in this folder, if it is there.
    #[arg(long, value_name = "FILE")]
    pub suppress: Option<PathBuf>,
    /// Write the results as JUnit XML.
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Write what the device saw as SARIF, for code scanning.
    #[arg(long, value_name = "FILE")]
    pub sarif: Option<PathBuf>,
    /// Write the results and what the device saw as JSON.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Time limit of one test.
    #[arg(long, default_value = "10m", value_parser = humantime::parse_duration)]
    pub timeout: Duration,
    /// The number of devices, 1 to 8.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=8))]
    pub devices: u8,
    /// Arguments of Cargo, or the program and its arguments.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    #[serde(skip)]
    pub args: Vec<OsString>,
}

impl Options {
    /// Puts a `--` back before the arguments of Cargo: in `cargo snuffer test -- --ignored` it is Cargo's, but clap takes it.
    pub fn keep_separator(&mut self, words: &[OsString]) {
        let before = words.len().checked_sub(self.args.len() + 1).and_then(|at| words.get(at));
        if before.is_some_and(|word| word == "--") {
            self.args.insert(0, "--".into());
        }
    }
}

/// What fails a run whose tests pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize, Deserialize)]
pub enum FailOn {
    /// Also anything that the simulated device does not support: the run proves less than it seems to.
    Unsupported,
    /// A report of a checker, or a fault.
    Report,
    /// A fault, which ends a kernel with an error on hardware.
    Fault,
    /// Nothing.
    Never,
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use clap::Parser;

    use super::{Cargo, Task};

    #[test]
    fn what_comes_after_the_options_is_handed_to_cargo_as_it_was_written() {
        for written in [
            "-- --ignored",
            "--features cuda -- --ignored",
            "--features cuda",
            "name -- --ignored -- more",
            "-- -- --ignored",
            "",
        ] {
            let mut words: Vec<OsString> = ["snuffer", "test", "--fail-on", "never"].map(Into::into).into();
            let given: Vec<OsString> = written.split_whitespace().map(Into::into).collect();
            words.extend(given.clone());
            let Task::Test(mut options) = Cargo::parse_from(&words).task else { panic!("`test` is the task") };
            options.keep_separator(&words);
            assert_eq!(options.args, given, "{written}");
        }
    }
}
