//! What is fuzzed: the release under test, or another candle.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};

use super::{Args, CASES};
use crate::set_up;
use crate::shell::target;

/// What is fuzzed.
pub struct Subject {
    /// The package with the targets.
    pub package: PathBuf,
    /// The store of its findings, which are not reported again.
    pub store: String,
}

impl Subject {
    /// What `args` name. `snuffer` writes the package for another candle.
    pub fn of(args: &Args) -> anyhow::Result<Self> {
        let Args { target: name, devices, store, .. } = args;
        let Some(candle) = &args.candle else { return Ok(Self { package: "fuzz".into(), store: store.clone() }) };
        let is_case = CASES.contains(&name.as_str());
        ensure!(is_case, "{name} reads no cases; --candle is for {}", CASES.join(", "));
        set_up::snuffer()?;
        let device = if devices.can_be_simulated() { "sim:0" } else { "cpu" };
        let mut snuffer = Command::new(target()?.join("debug/snuffer"));
        snuffer.args(["lab", "fuzz-package", "--candle", candle, "--device", device, "--store", store]);
        let output = snuffer.stderr(Stdio::inherit()).output().context("cannot run snuffer")?;
        ensure!(output.status.success(), "candle {candle} cannot be fuzzed");
        let printed = String::from_utf8(output.stdout)?;
        let (package, store) = printed.trim_end().split_once('\n').context("snuffer names a package and a store")?;
        Ok(Self { package: package.into(), store: store.to_string() })
    }
}
