//! Data on disk: findings, campaign records, regressions, and the history of campaigns.

mod cause;
mod files;
mod findings;
#[cfg(feature = "cli")]
pub mod history;
mod id;
mod lookup;
mod merge;
mod platform;
mod record;
pub mod regression;
mod reproduction;
mod sealed;

pub use cause::Cause;
pub use files::{keep_case, keep_executable, keep_lost, keep_program, lock, make_folder, write_atomically};
pub use findings::{Finding, Origin, Store, version};
pub use id::id;
pub use merge::Merged;
pub use platform::Platform;
pub use record::{Counts, Failure, IsRunning, Limit, Log, NotPassed, Record, Tally, read_coverage};
pub use reproduction::{Reproduction, Unchecked};

/// The folder of the store if nothing names one.
pub const DEFAULT: &str = "findings";
