//! Settles the failures of a case: each that is new to the campaign becomes a finding, unless the store has one that explains it.

use super::lost_devices::Thread;
use super::{Event, Shared};
use crate::case::Case;
use crate::exec::WorkerSpec;
use crate::oracle::Signature;
use crate::settle::{Judged, Source};
use crate::store::Finding;

/// A case shows more than its failure needs, so another bug may look like a known one. Of this many cases that look like a known
/// finding, the first, second, fourth, eighth … are minimized.
const LOOKS: u64 = 16;

impl Shared<'_> {
    /// Whether no case has failed with this signature before.
    pub(super) fn is_new(&self, signature: &Signature) -> bool {
        !self.claims.has(&signature.op, signature) && !self.state().seen.contains_key(signature)
    }

    /// Whether a case with this signature, as drawn, cannot show anything else than what is claimed.
    fn is_settled(&self, signature: &Signature) -> bool {
        self.state().seen.entry(signature.clone()).or_default();
        !signature.may_be_plainer() && self.claims.has(&signature.op, signature)
    }

    /// Whether a case that looks like the finding `known` is minimized: it may show another one.
    fn wants_a_look(&self, known: &Signature) -> bool {
        if !known.may_shrink() {
            return false;
        }
        let mut state = self.state();
        let seen = state.seen.entry(known.clone()).or_default();
        *seen += 1;
        *seen <= LOOKS && seen.is_power_of_two()
    }

    /// Settles the failures in `queue`, the last one first, and every other failure that the minimizer comes across.
    pub(super) fn settle_all(
        &self,
        thread: &mut Thread,
        source: Source,
        mut queue: Vec<(Case, Signature)>,
    ) -> anyhow::Result<()> {
        while let Some((case, signature)) = queue.pop() {
            if self.is_settled(&signature) {
                continue;
            }
            let mut judged = thread.judged(self.settings());
            let (case, signature) = judged.canonical(case, signature)?;
            let known = self.claim_signature(&signature)?;
            if known.as_ref().is_some_and(|known| !self.wants_a_look(known)) {
                continue;
            }
            let settled = judged.settle(case, &signature, Some(source));
            // Another device may still settle it.
            let settled = settled.inspect_err(|_| self.claims.release(&signature.op, &signature))?;
            queue.extend(settled.other_failures);
            let Some(finding) = settled.finding else {
                if known.is_none() {
                    (self.on_event)(Event::Flaky(&signature));
                }
                continue;
            };
            let known = if finding.signature == signature {
                known
            } else {
                if known.is_none() {
                    // The next case with this signature may need all of it.
                    self.claims.release(&signature.op, &signature);
                }
                self.claim_signature(&finding.signature)?
            };
            if known.is_none() {
                queue.extend(self.keep(&mut judged, finding)?);
            }
        }
        Ok(())
    }

    /// Claims a signature for this thread, unless a claimed one or a finding of the store explains it: returns that.
    fn claim_signature(&self, signature: &Signature) -> anyhow::Result<Option<Signature>> {
        if let Some(claimed) = self.claims.claim(&signature.op, signature) {
            return Ok(Some(claimed));
        }
        let WorkerSpec { candle, kernels, .. } = &self.plan.spec;
        let Some((name, known)) = self.store.known(signature, candle.as_deref(), kernels.as_deref())? else {
            return Ok(None);
        };
        self.claims.claim(&known.op, &known);
        (self.on_event)(Event::Known(&name, &known));
        Ok(Some(known))
    }

    /// Stores a finding. If one step of a sequence fails on its own, returns that call with its failures instead: only failures
    /// that need several steps belong to the sequence.
    fn keep(&self, judged: &mut Judged, finding: Finding) -> anyhow::Result<Vec<(Case, Signature)>> {
        if let Some((call, signatures)) = judged.failing_step(&finding.case)? {
            return Ok(signatures.into_iter().map(|signature| (call.clone(), signature)).collect());
        }
        if let Some(name) = self.store.insert(&finding)? {
            (self.on_event)(Event::Found(&name, &finding));
            self.state().new.push((name, finding));
        }
        Ok(Vec::new())
    }
}
