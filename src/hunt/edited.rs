//! Hunts on edited kernels: only what candle's own kernels do not do counts.

use super::Shared;
use super::losing::Thread;
use crate::case::Case;
use crate::examine::{Patience, examine};
use crate::exec::Executor;
use crate::ops::{Op, find};
use crate::oracle::{Signature, Verdict};
use crate::settle::{self, Settings, Settled, Source};

/// Why a case is skipped whose violations candle's own kernels show, too.
const OWN: &str = "candle's own kernels fail in the same way";

impl Shared<'_> {
    /// `verdict` on `case` without what candle's own kernels do as well. If none are edited, it stays as it is.
    pub(super) fn of_the_edit(
        &self,
        thread: &mut Thread,
        op: &'static Op,
        case: &Case,
        verdict: Verdict,
    ) -> anyhow::Result<Verdict> {
        let Verdict::Fail(mut violations) = verdict else { return Ok(verdict) };
        let own = self.signatures_of_own(thread, op, case)?;
        violations.retain(|violation| !own.contains(&violation.signature(op.name)));
        Ok(Verdict::of(violations, Verdict::Skip(OWN)))
    }

    /// Whether candle's own kernels fail on `case` with `signature`, too.
    pub(super) fn is_own(&self, thread: &mut Thread, case: &Case, signature: &Signature) -> anyhow::Result<bool> {
        find(&case.op).map_or(Ok(false), |op| Ok(self.signatures_of_own(thread, op, case)?.contains(signature)))
    }

    /// The plainest form of a failure, or the failure itself if candle's own kernels fail in that form.
    pub(super) fn canonical(
        &self,
        thread: &mut Thread,
        case: Case,
        signature: Signature,
    ) -> anyhow::Result<(Case, Signature)> {
        let plain = settle::canonical(&mut thread.executor, case.clone(), signature.clone())?;
        Ok(if self.is_own(thread, &plain.0, &plain.1)? { (case, signature) } else { plain })
    }

    /// Settles a failure. Where the minimizer slips to one that candle's own kernels have as well, the case stays as it was.
    pub(super) fn settle(
        &self,
        thread: &mut Thread,
        case: Case,
        signature: &Signature,
        source: Source,
    ) -> anyhow::Result<Settled> {
        let settings = self.settings();
        let settled = settle::settle(&mut thread.executor, case.clone(), signature, &settings, source)?;
        match &settled.finding {
            Some(finding) if self.is_own(thread, &finding.case, &finding.signature)? => {
                let as_it_is = Settings { attempts: 0, ..settings };
                settle::settle(&mut thread.executor, case, signature, &as_it_is, source)
            }
            _ => Ok(settled),
        }
    }

    /// How `case` fails on candle's own kernels, on the devices of `thread`. Nothing to tell apart if none are edited.
    fn signatures_of_own(&self, thread: &mut Thread, op: &'static Op, case: &Case) -> anyhow::Result<Vec<Signature>> {
        if self.plan.spec.kernels.is_none() {
            return Ok(Vec::new());
        }
        let devices = thread.executor.devices();
        let own = match &mut thread.own {
            Some(own) if own.devices() == devices => own,
            own => own.insert(Executor::start(&devices, &self.plan.spec.with_original_kernels())?),
        };
        Ok(examine(own, op, case, Patience::SHORT_THEN_FULL)?.verdict.signatures(op.name))
    }
}
