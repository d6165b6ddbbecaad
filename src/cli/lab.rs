//! `snuffer lab`: how good snuffer itself is, and how well the simulated device stands in for hardware.

mod fidelity;
mod fuzz_package;
mod golden;
mod moved;
mod score;

use super::StoreArg;
use crate::exit_code::Exit;

/// Arguments of `snuffer lab`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Change instructions of candle's kernels on a simulated device, and show which changes drawn cases notice.
    Score(score::Args),
    /// Compare the simulated device with hardware, case by case and bit by bit.
    Fidelity(fidelity::Args),
    /// Record what hardware computes, and check the simulated device against it.
    Golden(golden::Args),
    /// Show what another release of candle means for the contracts: `cargo xtask candle` runs it.
    #[command(hide = true)]
    Moved(moved::Args),
    /// Write a package with the fuzz targets for another candle: `cargo xtask fuzz --candle` builds it.
    #[command(hide = true)]
    FuzzPackage(fuzz_package::Args),
}

/// Runs one of the commands.
pub fn run(args: &Args, store: &StoreArg) -> anyhow::Result<Exit> {
    match &args.command {
        Command::Score(args) => score::run(args),
        Command::Fidelity(args) => fidelity::run(args, store),
        Command::Golden(args) => golden::run(args),
        Command::Moved(args) => moved::run(args),
        Command::FuzzPackage(args) => fuzz_package::run(args, store),
    }
}
