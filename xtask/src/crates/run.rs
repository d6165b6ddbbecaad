//! Runs a crate with `cargo snuffer`.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, bail, ensure};

use super::list::{Listed, What};
use super::outcome::{self, Finished};
use super::{fetch, folder};
use crate::set_up;
use crate::shell::{cargo, status, target};

/// The time limit of a test, unless the list has another.
const TIMEOUT: &str = "2m";

/// What crates are run with.
pub struct Tools {
    program: PathBuf,
}

impl Tools {
    /// Builds `cargo snuffer`, and sets the device up.
    pub fn ready() -> anyhow::Result<Self> {
        let mut build = cargo();
        build.args(["build", "--locked", "--package", "cargo-snuffer"]);
        set_up::build("cargo snuffer", "a minute on a new machine", &mut build)?;
        let tools = Self { program: target()?.join("debug/cargo-snuffer") };
        let code = status(tools.snuffer()?.args(["setup", "--yes", "--nvrtc"]))?;
        ensure!(code == 0, "the simulated device cannot be set up");
        Ok(tools)
    }

    fn snuffer(&self) -> anyhow::Result<Command> {
        let mut command = Command::new(&self.program);
        command.arg("snuffer").env("SNUFFER_HOME", target()?);
        Ok(command)
    }

    /// Fetches, builds and runs a crate.
    pub fn run(&self, listed: &Listed) -> anyhow::Result<Vec<Finished>> {
        let What::Runs(task) = listed.what()? else { bail!("{} cannot run", listed.name) };
        let crate_folder = fetch::fetch(listed)?;
        let logs = folder()?.join("logs");
        fs::create_dir_all(&logs)?;
        let (log, json) = (logs.join(format!("{}.txt", listed.name)), logs.join(format!("{}.json", listed.name)));
        let _ = fs::remove_file(&json);
        let mut command = self.snuffer()?;
        command.current_dir(crate_folder).arg(task).args(["--fail-on", "never"]);
        if !listed.options.iter().any(|option| option == "--timeout") {
            command.args(["--timeout", TIMEOUT]);
        }
        command.arg("--json").arg(&json).args(&listed.options).args(&listed.arguments);
        // They share what they depend on, and nothing of it is debugged or built again.
        command.env("CARGO_TARGET_DIR", folder()?.join("build")).env("CARGO_INCREMENTAL", "0");
        command.env("CARGO_PROFILE_DEV_DEBUG", "line-tables-only").env("RUST_BACKTRACE", "0");
        command.envs(&listed.environment);
        let output = File::create(&log)?;
        status(command.stdout(output.try_clone()?).stderr(output))?;
        let read = fs::read(&json).with_context(|| format!("{} did not build; see {}", listed.name, log.display()))?;
        outcome::read(&read)
    }
}
