//! `snuffer lab fuzz-package`: the fuzz targets with another candle, for `cargo xtask fuzz` to build.

use crate::candles::fuzz_package;
use crate::cli::{CandleArg, StoreArg, UsageError};
use crate::device::Device;
use crate::exit_code::Exit;

/// Arguments of `snuffer lab fuzz-package`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    candle: CandleArg,
    /// The device to fuzz on besides `cpu`.
    #[arg(long, default_value = "cpu")]
    device: Device,
}

/// Prints the folder of the package, and the store of findings of that candle.
pub fn run(args: &Args, store: &StoreArg) -> anyhow::Result<Exit> {
    let named = args.candle.named.as_deref().unwrap_or(crate::CANDLE);
    let folder = fuzz_package(named, args.device)?
        .ok_or_else(|| UsageError(format!("{named} is the release under test; omit --candle")))?;
    println!("{}\n{}", folder.display(), args.candle.store(store)?.path().display());
    Ok(Exit::Clean)
}
