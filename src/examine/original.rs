//! Candle's own kernels beside edited ones: a failure counts only if they do not show it, too.

use super::{Patience, examine};
use crate::case::Case;
use crate::device::Device;
use crate::exec::{Executor, WorkerSpec};
use crate::ops::Op;
use crate::oracle::Verdict;

/// Why a case is skipped whose violations candle's own kernels show, too.
const OWN: &str = "candle's own kernels fail in the same way";

/// Workers with candle's own kernels, which start when a case fails on edited ones. There are none if no kernels are edited.
#[derive(Debug, Default)]
pub struct Original {
    spec: Option<WorkerSpec>,
    executor: Option<Executor>,
}

impl Original {
    /// Those beside workers of `spec`.
    pub fn beside(spec: &WorkerSpec) -> Self {
        Self { spec: spec.kernels.is_some().then(|| spec.with_original_kernels()), executor: None }
    }

    /// `verdict` on `case`, on these devices, without the violations that candle's own kernels show as well.
    pub fn excuse(
        &mut self,
        op: &'static Op,
        case: &Case,
        devices: &[Device],
        verdict: Verdict,
    ) -> anyhow::Result<Verdict> {
        let Some(spec) = &self.spec else { return Ok(verdict) };
        let Verdict::Fail(mut violations) = verdict else { return Ok(verdict) };
        let executor = match &mut self.executor {
            Some(executor) if executor.devices() == devices => executor,
            executor => executor.insert(Executor::start(devices, spec)?),
        };
        let own = examine(executor, op, case, Patience::SHORT_THEN_FULL)?.verdict.signatures(op.name);
        violations.retain(|violation| !own.contains(&violation.signature(op.name)));
        Ok(Verdict::of(violations, Verdict::Skip(OWN)))
    }
}
