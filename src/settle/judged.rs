//! What a hunt settles: violations that the oracles find with one candle, by their signatures.

use super::engine::{Simplest, plainest, simplest};
use super::problem::{Effort, Failure, Problem, Seen};
use super::prove::{Proof, prove};
use super::{Settings, Settled, Source, op_of, versions};
use crate::case::Case;
use crate::examine::{Original, Patience, examine};
use crate::exec::{Executor, WorkerSpec};
use crate::investigate::failing_step;
use crate::ops::Op;
use crate::oracle::{Signature, Verdict};
use crate::store::{Finding, Origin};

impl Failure for Signature {
    fn is_same(&self, other: &Self) -> bool {
        self == other
    }

    fn covers(&self, other: &Self) -> bool {
        Self::covers(self, other)
    }

    fn plain_form<'a>(&self, found: &'a [Self]) -> Option<&'a Self> {
        let mut plain = found.iter().filter(|other| self.is_plainly(other));
        let first = plain.clone().next();
        plain.find(|other| other.site == self.site).or(first)
    }
}

/// The workers of one candle, whose failures are settled. What candle's own kernels do as well does not count.
#[derive(Debug)]
pub struct Judged<'a> {
    /// The workers.
    pub executor: &'a mut Executor,
    /// Workers with candle's own kernels beside edited ones.
    pub original: &'a mut Original,
    /// How findings are settled.
    pub settings: Settings,
}

impl Judged<'_> {
    /// The plain form of the same failure: a single call instead of a sequence if one step fails on its own, then as of [`plainest`].
    pub fn canonical(&mut self, case: Case, signature: Signature) -> anyhow::Result<(Case, Signature)> {
        let is_it = |other: &&Signature| (other.oracle, &other.kind) == (signature.oracle, &signature.kind);
        let (case, signature) = match self.failing_step(&case)? {
            Some((call, found)) => (call, found.iter().find(is_it).unwrap_or(&found[0]).clone()),
            None => (case, signature),
        };
        plainest(self, op_of(&case)?, case, signature)
    }

    /// The step of a sequence that fails on its own, as a single call, and how it fails.
    pub fn failing_step(&mut self, case: &Case) -> anyhow::Result<Option<(Case, Vec<Signature>)>> {
        let Some((call, violations)) = failing_step(self.executor, case)? else { return Ok(None) };
        let verdict = Verdict::of(violations, Verdict::Pass);
        let op = op_of(&call)?;
        let signatures = self.original.excuse(op, &call, &self.executor.devices(), verdict)?.signatures(op.name);
        Ok((!signatures.is_empty()).then_some((call, signatures)))
    }

    /// Minimizes `case` under `signature` and proves the result in new workers. The signature of the finding may be plainer.
    pub fn settle(&mut self, case: Case, signature: &Signature, source: Option<Source>) -> anyhow::Result<Settled> {
        let op = op_of(&case)?;
        let budget = self.settings.budget();
        let Simplest { minimized, failure: signature, proof, others } = simplest(self, op, case, signature, budget)?;
        let (attempts, minimal, passes) = (minimized.attempts(), minimized.finished, minimized.passes);
        let finding = proof.map(|Proof { violation, reproduction, observations }| Finding {
            signature,
            violation,
            promise: op.promise.to_string(),
            reproduction,
            origin: Origin { attempts, minimal, ..self.origin(source) },
            case: minimized.case,
            observations,
        });
        Ok(Settled { finding, other_failures: others, passes })
    }

    /// Where and with what a finding was made.
    fn origin(&self, source: Option<Source>) -> Origin {
        let WorkerSpec { candle, kernels, behaviour, .. } = self.executor.spec();
        let Source { seed, index } = source.unwrap_or_default();
        Origin {
            versions: versions(candle.as_deref()),
            hardware: self.executor.hardware(),
            sanitizer: behaviour.sanitizer,
            kernels: kernels.as_deref().cloned(),
            candle: candle.as_deref().cloned(),
            seed,
            index,
            attempts: 0,
            minimal: false,
        }
    }
}

impl Problem for Judged<'_> {
    type Failure = Signature;
    type Proof = Proof;

    fn failures(&mut self, op: &'static Op, case: &Case, patience: Patience) -> anyhow::Result<Seen<Signature>> {
        let examined = examine(self.executor, op, case, patience)?;
        let is_late = examined.is_late();
        let verdict = self.original.excuse(op, case, &self.executor.devices(), examined.verdict)?;
        Ok(Seen { failures: verdict.signatures(op.name), is_late })
    }

    fn prove(
        &mut self,
        op: &'static Op,
        case: &Case,
        signature: &Signature,
        effort: Effort,
    ) -> anyhow::Result<Option<Proof>> {
        prove(self.executor, op, case, signature, effort, self.settings.tries)
    }
}
