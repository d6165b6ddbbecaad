//! `snuffer merge`: merges stores.

use std::path::PathBuf;

use super::{existing, intact};
use crate::exit_code::Exit;
use crate::store::{Store, Tally};

/// Arguments of `snuffer merge`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The stores to merge, such as those of the shards of a hunt.
    #[arg(required = true)]
    stores: Vec<PathBuf>,
    /// The store to merge into; created if missing.
    #[arg(long)]
    into: PathBuf,
}

/// Merges the stores. `Harness` if something in one is damaged and was left out.
pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let into = Store::open(&args.into)?;
    let mut exit = Exit::Clean;
    for path in &args.stores {
        let merged = into.merge(&existing(path)?)?;
        println!(
            "{}: {} new findings of {}, {} campaigns",
            path.display(),
            merged.new,
            merged.findings,
            merged.campaigns
        );
        merged.damaged.iter().for_each(|problem| intact::left_out(problem, &mut exit));
    }
    let records = intact::campaigns(&into, &mut exit)?;
    let campaigns = Tally::sum(records.iter().map(|(_, record)| record));
    println!("{}: {} cases, {} signatures", args.into.display(), campaigns.total.cases, campaigns.signatures.len());
    Ok(exit)
}
