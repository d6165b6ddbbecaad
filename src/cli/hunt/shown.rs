//! The options by which a campaign is shown, and by which it fails.

use std::path::PathBuf;

use crate::cli::KnownArg;
use crate::console::Detail;
use crate::oracle::Rank;
use crate::report::Summary;
use crate::store::{Record, Tally, write_atomically};

/// How a campaign is shown.
#[derive(Debug, clap::Args)]
pub struct Shown {
    /// Show all of each finding, and also findings that are already in the store.
    #[arg(long, short)]
    verbose: bool,
    /// Print events as JSON lines.
    #[arg(long, conflicts_with = "verbose")]
    json: bool,
    /// Also write the summary of the new findings to this file, as Markdown.
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Exit with code 2 for any failure, or only for a new finding, which neither a cause nor a regression explains.
    #[arg(long, value_enum, default_value_t = FailOn::Any)]
    fail_on: FailOn,
    /// The least severe rank that ends the command with exit code 2: memory, wrong, crash, refusal, limit or cost, the worst first.
    #[arg(long, value_name = "RANK", default_value = "limit")]
    fail_rank: Rank,
    #[command(flatten)]
    pub known: KnownArg,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum FailOn {
    Any,
    New,
}

impl Shown {
    pub fn detail(&self) -> Detail {
        match () {
            () if self.json => Detail::Json,
            () if self.verbose => Detail::All,
            () => Detail::Lines,
        }
    }

    /// Writes the summary of the new findings where it is asked for.
    pub fn write(&self, record: &Record, summary: &Summary) -> anyhow::Result<()> {
        match &self.markdown {
            Some(path) => write_atomically(path, summary.markdown(&[record]).as_bytes()),
            None => Ok(()),
        }
    }

    /// Whether findings end the command with their exit code.
    pub fn fails(&self, tally: &Tally, summary: &Summary) -> bool {
        match self.fail_on {
            FailOn::Any => tally.ranks.keys().any(|rank| rank.parse().is_ok_and(|rank: Rank| rank <= self.fail_rank)),
            FailOn::New => summary.has_news(self.fail_rank),
        }
    }
}
