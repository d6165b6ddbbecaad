//! From a failing case to a finding: canonical form, minimization, and proof that the failure happens again.

mod claims;
mod engine;
mod judged;
pub mod minimize;
mod problem;
mod promise;
mod prove;
mod search;

use std::time::Duration;

use anyhow::Context;

use crate::case::Case;
use crate::examine::Original;
use crate::exec::environment::executable;
use crate::exec::{Build, CandleUnderTest, Executor, WorkerSpec};
use crate::ops::{Op, find};
use crate::oracle::Signature;
use crate::store::{Finding, Unchecked};

pub use claims::Claims;
pub use engine::{Simplest, plainest, simplest};
pub use judged::Judged;
pub use minimize::PassCounts;
pub use problem::{Effort, Failure, Problem, Seen};
pub use promise::keeps;
pub use search::{Budget, Search};

/// How findings are settled.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// How long the minimizer may take for one finding.
    pub time: Duration,
    /// How many candidates it may try.
    pub attempts: usize,
    /// How many times the minimized case is run to see how reliably it fails.
    pub tries: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self { time: Duration::from_secs(30), attempts: 20_000, tries: 10 }
    }
}

impl Settings {
    /// How much the minimizer may take.
    pub fn budget(&self) -> Budget {
        Budget { time: self.time, attempts: self.attempts }
    }
}

/// Which campaign drew a case.
#[derive(Debug, Clone, Copy, Default)]
pub struct Source {
    /// The campaign's seed.
    pub seed: u64,
    /// The case's index in the campaign.
    pub index: u64,
}

/// The result of settling a failure.
#[derive(Debug)]
pub struct Settled {
    /// The finding; `None` if the failure does not happen in a new process.
    pub finding: Option<Finding>,
    /// Failures with other signatures that the minimizer came across, with one case each.
    pub other_failures: Vec<(Case, Signature)>,
    /// What each pass of the minimizer did.
    pub passes: Vec<PassCounts>,
}

/// Settles one failure of a case that no campaign drew.
pub fn settle(
    executor: &mut Executor,
    case: Case,
    signature: &Signature,
    settings: Settings,
) -> anyhow::Result<Settled> {
    Judged { executor, original: &mut Original::default(), settings }.settle(case, signature, None)
}

/// The plain form of a failure, as of [`Judged::canonical`].
pub fn canonical(executor: &mut Executor, case: Case, signature: Signature) -> anyhow::Result<(Case, Signature)> {
    Judged { executor, original: &mut Original::default(), settings: Settings::default() }.canonical(case, signature)
}

/// Runs `finding` in the unchecked build if that was not there when it was settled, and is now. Returns whether it did.
pub fn complete(finding: &mut Finding, spec: &WorkerSpec) -> anyhow::Result<bool> {
    let not_run = matches!(finding.reproduction.unchecked, Unchecked::NotRun(_));
    if !not_run || executable(finding.violation.device, Build::Unchecked).is_err() {
        return Ok(false);
    }
    finding.reproduction.unchecked = prove::unchecked(op_of(&finding.case)?, &finding.case, &finding.violation, spec)?;
    Ok(true)
}

fn op_of(case: &Case) -> anyhow::Result<&'static Op> {
    find(&case.op).with_context(|| format!("this build has no op `{}`", case.op))
}

/// The versions of `snuffer` and of the candle that workers have.
pub fn versions(candle: Option<&CandleUnderTest>) -> String {
    let candle = CandleUnderTest::version(candle);
    format!("snuffer {}, candle-core {candle}, candle-nn {candle}", env!("CARGO_PKG_VERSION"))
}
