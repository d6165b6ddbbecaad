//! `cargo xtask`: the two commands of the README. Each does all the set-up that it needs, and says what it does.

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Instant;

use anyhow::{Context, bail};
use clap::{Parser, Subcommand};

/// Sets `snuffer` up and runs it.
#[derive(Debug, Parser)]
struct Cli {
    #[command(subcommand)]
    command: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Build everything and hunt; what follows `--` goes to `snuffer hunt`.
    Hunt {
        /// Arguments of `snuffer hunt`, such as `--time 60s`.
        #[arg(last = true)]
        args: Vec<String>,
    },
    /// Build everything and run every test; what follows `--` goes to `cargo test`.
    Test {
        /// Arguments of `cargo test`.
        #[arg(last = true)]
        args: Vec<String>,
    },
}

fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::from(5)
        }
    }
}

fn run(task: Task) -> anyhow::Result<u8> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask lies in the workspace")?;
    std::env::set_current_dir(root)?;
    set_up()?;
    match task {
        Task::Hunt { args } => status(Command::new(target().join("debug/snuffer")).arg("hunt").args(args)),
        Task::Test { args } => {
            let code = status(cargo().args(["test", "--workspace", "--locked"]).args(args))?;
            eprintln!("xtask: tests ran on cpu; not run: sim:0 and cuda:0, which this version does not have");
            Ok(code)
        }
    }
}

/// Builds `snuffer` with its checked worker, and the worker without overflow checks.
fn set_up() -> anyhow::Result<()> {
    let builds: [(&str, &[&str]); 2] = [
        ("snuffer and its worker, optimized, with overflow checks", &["build", "--locked"]),
        ("the worker without overflow checks", &["build", "--locked", "--release", "--bin", "snuffer-worker"]),
    ];
    for (what, args) in builds {
        let begun = Instant::now();
        eprintln!("xtask: building {what} (minutes on a new machine, else a second)");
        if status(cargo().args(args))? != 0 {
            bail!("`cargo {}` failed", args.join(" "));
        }
        eprintln!("xtask: built in {:.0} s", begun.elapsed().as_secs_f64());
    }
    Ok(())
}

fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

fn target() -> std::path::PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), Into::into)
}

/// Runs `command` to its end.
fn status(command: &mut Command) -> anyhow::Result<u8> {
    let status = command.status().with_context(|| format!("cannot run {}", command.get_program().display()))?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(5))
}
