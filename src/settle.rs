//! From a failing case to a finding: canonical form, minimization, and proof that the failure happens again.

mod canonical;
pub mod minimize;
mod promise;
mod prove;
mod search;

use std::time::Duration;

use anyhow::Context;

use crate::case::Case;
use crate::examine::Patience;
use crate::exec::environment::executable;
use crate::exec::{Build, Executor, OtherCandle, WorkerSpec};
use crate::ops::{Op, find};
use crate::oracle::Signature;
use crate::store::{Finding, Origin, Unchecked};
use minimize::Minimized;

pub use canonical::{PLAINER, canonical};
pub use minimize::PassCounts;
pub use promise::keeps;
pub use search::Search;

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

/// Which campaign drew a case. The default stands for a case that no campaign drew.
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

/// Minimizes `case` under `signature` and proves the result in new workers. The signature of the finding may be plainer.
pub fn settle(
    executor: &mut Executor,
    case: Case,
    signature: &Signature,
    settings: &Settings,
    source: Source,
) -> anyhow::Result<Settled> {
    let op = op_of(&case)?;
    let mut search = Search::new(op, &case, signature, settings);
    let (mut minimized, mut plainest) = search.run(executor, case.clone(), signature, Patience::Short)?;
    let mut first_run = prove::in_new_workers(executor, op, &minimized.case, &plainest)?;
    if first_run.violation.is_none() {
        // The short deadline can mistake a slow case for a hang: minimize again with the full one.
        (minimized, plainest) = search.run(executor, case, signature, Patience::Full)?;
        first_run = prove::in_new_workers(executor, op, &minimized.case, &plainest)?;
    }
    let other_failures = search.into_other_failures();
    let (attempts, minimal) = (minimized.attempts(), minimized.finished);
    let Minimized { case, passes, .. } = minimized;
    let Some(proof) = prove::repeat(executor, op, &case, &plainest, first_run, settings)? else {
        return Ok(Settled { finding: None, other_failures, passes });
    };
    let spec = executor.spec();
    let finding = Finding {
        signature: plainest,
        violation: proof.violation,
        promise: op.promise.to_string(),
        reproduction: proof.reproduction,
        origin: Origin {
            versions: versions(spec.candle.as_deref()),
            hardware: executor.hardware(),
            sanitizer: spec.behaviour.sanitizer,
            kernels: spec.kernels.as_deref().cloned(),
            candle: spec.candle.as_deref().cloned(),
            seed: source.seed,
            index: source.index,
            attempts,
            minimal,
        },
        case,
        observations: proof.observations,
    };
    Ok(Settled { finding: Some(finding), other_failures, passes })
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
pub fn versions(candle: Option<&OtherCandle>) -> String {
    let candle = OtherCandle::version(candle);
    format!("snuffer {}, candle-core {candle}, candle-nn {candle}", env!("CARGO_PKG_VERSION"))
}
