//! Mutants of PTX, loaded and launched through the simulated driver: none ends the process that loads it.

use std::path::Path;
use std::process::Command;

use anyhow::Context;
use rand_core::Rng;
use rand_pcg::Pcg64Mcg;

use super::ground::{DEADLINE, Ground, files};
use super::judge::run;

/// Loads and launches 300 mutants in a process. Without the simulated device there is nothing to do.
pub fn experiment(ground: &Ground, rng: &mut Pcg64Mcg) -> anyhow::Result<()> {
    let Some(mutants) = &ground.mutants else { return Ok(()) };
    let sources = files(Path::new("simulator/tests"), ".ptx")?;
    let mut command = Command::new(mutants);
    let seed = rng.next_u32().to_string();
    command.arg(&seed).arg("300").args(sources).env("SNUFFER_SIM_BUDGET", "100000");
    let ended = run(&mut command, DEADLINE)?;
    // Kernels may print anything, as on hardware.
    ended.lives(&[0]).with_context(|| format!("seed {seed}"))?;
    ended.stdout.contains("300 mutants").then_some(()).context("the program ended before its last mutant")
}
