//! `snuffer findings promote`: makes a regression of a finding, for the test suite to replay.

use std::path::{Path, PathBuf};

use semver::Version;

use super::{KnownArg, UsageError, cases, check_release};
use crate::exit_code::Exit;
use crate::store::regression::{self, Regression, Status};
use crate::store::{Finding, write_atomically};

/// Arguments of `snuffer findings promote`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The finding's name, its id, or a unique part of its name; or its file; `-` reads standard input.
    pub name: String,
    /// What happens, in a sentence. Its first words become the regression's name.
    #[arg(long)]
    title: String,
    /// `open`, `filed`, `fixed`, `by-design`, `flaky` or `wontfix`.
    #[arg(long, default_value_t = Status::Open)]
    status: Status,
    /// The upstream issue or pull request; needed for `filed`.
    #[arg(long)]
    upstream: Option<String>,
    /// The release of candle that fixed it; needed for `fixed`.
    #[arg(long)]
    fixed_in: Option<Version>,
    /// Why it is not reported; needed for `by-design`, `flaky` and `wontfix`.
    #[arg(long)]
    reason: Option<String>,
    /// The folder of regressions. By default that of `--known`, or `corpora/regressions` of this folder or the nearest above.
    #[arg(long)]
    to: Option<PathBuf>,
}

pub fn run(args: Args, finding: &Finding, known: &KnownArg) -> anyhow::Result<Exit> {
    check_release(finding)?;
    let mut regression = Regression::of(finding);
    (regression.title, regression.status) = (args.title, args.status);
    (regression.upstream, regression.fixed_in, regression.reason) = (args.upstream, args.fixed_in, args.reason);
    println!("{}", keep(&regression, &args.to.unwrap_or_else(|| known.folder()))?.display());
    Ok(Exit::Clean)
}

/// Writes `regression` into a new folder below `to`, named after its op and title.
pub fn keep(regression: &Regression, to: &Path) -> anyhow::Result<PathBuf> {
    let title = &regression.title;
    // The op names a folder, and a finding may come from anywhere.
    cases::op(&regression.case)?;
    let Some(name) = regression::name(&regression.case.op, title) else {
        return Err(UsageError(format!("the title `{title}` has no words to name a folder after")).into());
    };
    let path = regression::path(to, &name);
    let folder = path.parent().unwrap_or(to);
    if folder.exists() {
        let message = format!("{} already exists: use another title, or edit that regression", folder.display());
        return Err(UsageError(message).into());
    }
    let text = regression.to_text();
    // The reader of the file checks that the status has the fields that it needs.
    Regression::parse(&text).map_err(UsageError)?;
    write_atomically(&path, text.as_bytes())?;
    Ok(path)
}
