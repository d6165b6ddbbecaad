//! `snuffer findings promote`: a finding becomes a regression, which the test suite replays.

use std::path::{Path, PathBuf};

use semver::Version;

use super::UsageError;
use crate::exit_code::Exit;
use crate::store::regression::{Regression, Status};
use crate::store::{Finding, write_atomically};

/// Arguments of `snuffer findings promote`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Its name in the list.
    pub name: String,
    /// What it is about, in a sentence.
    #[arg(long)]
    title: Option<String>,
    /// `open`, `filed`, `fixed`, `by-design`, `flaky` or `wontfix`.
    #[arg(long, default_value_t = Status::Open)]
    status: Status,
    /// The upstream issue or pull request: what is filed has one.
    #[arg(long)]
    upstream: Option<String>,
    /// The release of candle that fixed it: what is fixed has one.
    #[arg(long)]
    fixed_in: Option<Version>,
    /// Why it is not to be reported: what is by design, flaky or not going to be fixed has one.
    #[arg(long)]
    reason: Option<String>,
    /// Where regressions are kept.
    #[arg(long, default_value = "corpora/regressions")]
    to: PathBuf,
}

pub fn run(args: Args, finding: &Finding) -> anyhow::Result<Exit> {
    let mut regression = Regression::of(finding);
    regression.title = args.title.unwrap_or(regression.title);
    regression.status = args.status;
    (regression.upstream, regression.fixed_in, regression.reason) = (args.upstream, args.fixed_in, args.reason);
    println!("{}", keep(&args.name, &regression, &args.to)?.display());
    Ok(Exit::Clean)
}

/// Writes `regression` as `name` into the folder `to`, where there is none of that name.
pub fn keep(name: &str, regression: &Regression, to: &Path) -> anyhow::Result<PathBuf> {
    std::fs::create_dir_all(to)?;
    let path = to.join(format!("{name}.toml"));
    if path.exists() {
        return Err(UsageError(format!("{} exists already: edit it", path.display())).into());
    }
    let text = regression.to_text();
    // What its status wants to be told is asked for by the reader of the file.
    Regression::parse(&text).map_err(UsageError)?;
    write_atomically(&path, text.as_bytes())?;
    Ok(path)
}
