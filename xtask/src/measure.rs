//! `cargo xtask measure`: what a change must not make worse. `docs/measured.md` has the figures of earlier days.

use std::process::Command;

use crate::set_up::{self, Devices};
use crate::shell::{cargo, status, target};

/// Arguments of `cargo xtask measure`.
#[derive(Debug, clap::Args)]
pub struct Args {
    name: Name,
    /// Arguments of the measurement, such as a word in the signatures or ops to measure.
    #[arg(last = true)]
    args: Vec<String>,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Name {
    /// How well signatures distinguish the causes of planted bugs, on `cpu` and `sim:0`.
    Dedup,
    /// How small minimized cases are, and how many candidates that takes, on `cpu`.
    Minimizer,
    /// How many planted bugs in candle's kernels are noticed: `snuffer lab score`.
    Score,
    /// Whether the simulated driver's memory grows in a program that serves requests for that many seconds, 60 by default.
    Soak,
    /// How many cases run per second, built as users build candle.
    Throughput,
}

/// Builds what the measurement needs, and runs it.
pub fn run(Args { name, args }: &Args) -> anyhow::Result<u8> {
    let mut command = match name {
        Name::Dedup => {
            set_up::everything(Devices::ALL)?;
            bench(&["--profile", "dev", "--bench", "measure", "--", "dedup"])
        }
        Name::Minimizer => {
            set_up::snuffer()?;
            bench(&["--profile", "dev", "--bench", "measure", "--", "minimizer"])
        }
        Name::Score => {
            set_up::everything(Devices::ALL)?;
            let mut snuffer = Command::new(target()?.join("debug/snuffer"));
            snuffer.args(["lab", "score"]);
            snuffer
        }
        Name::Soak => {
            let mut cargo = cargo();
            cargo.args(["run", "--locked", "-p", "snuffer-simulator-driver", "--example", "soak", "--"]);
            cargo
        }
        Name::Throughput => bench(&["--bench", "throughput", "--"]),
    };
    status(command.args(args))
}

/// A bench of `snuffer`; in the profile `dev` it has overflow checks, as hunts do.
fn bench(args: &[&str]) -> Command {
    let mut cargo = cargo();
    cargo.args(["bench", "--locked"]).args(args);
    cargo
}
