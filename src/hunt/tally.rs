//! Counts the cases of a campaign and their results.

use super::Sample;
use crate::ops::Contract;
use crate::oracle::Verdict;
use crate::outcome::{Observation, Outcome};
use crate::store::{Counts, Tally};
use crate::tensor::{DType, Tensor};

/// The counts of one judged case.
pub fn of(sample: &Sample, observations: &[Observation], verdict: &Verdict) -> Tally {
    let mut tally = Tally::default();
    let case = &sample.drawn.case;
    let floats = case.inputs.values().find(|tensor| tensor.dtype.is_float());
    let dtype = floats.or_else(|| case.inputs.values().next()).map_or("none", |tensor| tensor.dtype.name());
    let main = sample.op.dtype(case).map_or("none", DType::name);
    add(&mut tally.total, verdict);
    add(tally.ops.entry(sample.op.name.to_string()).or_default(), verdict);
    add(tally.modes.entry(sample.mode.name().to_string()).or_default(), verdict);
    add(tally.dtypes.entry(dtype.to_string()).or_default(), verdict);
    for view in views(case.inputs.values()) {
        add(tally.views.entry(view.to_string()).or_default(), verdict);
    }
    for observation in observations {
        let key = format!("{} {}", observation.device, observation.outcome.name());
        *tally.calls.entry(format!("{} {main} {key}", sample.op.name)).or_default() += 1;
        *tally.outcomes.entry(key).or_default() += 1;
    }
    count_reason(&mut tally, sample, observations, verdict);
    for label in &sample.drawn.violations {
        *tally.violations.entry((*label).to_string()).or_default() += 1;
    }
    match verdict {
        Verdict::Pass => {}
        Verdict::Partly(why) | Verdict::Skip(why) => *tally.skips.entry((*why).to_string()).or_default() += 1,
        Verdict::Fail(violations) => {
            for violation in violations {
                let signature = violation.signature(sample.op.name);
                *tally.ranks.entry(signature.rank().name().to_string()).or_default() += 1;
                let signature = signature.slug();
                let devices = tally.charged.entry(signature.clone()).or_default();
                for device in violation.devices() {
                    *devices.entry(device.to_string()).or_default() += 1;
                }
                *tally.signatures.entry(signature).or_default() += 1;
            }
        }
    }
    tally
}

/// Counts what the devices do where the contract or the reference leaves it open.
fn count_reason(tally: &mut Tally, sample: &Sample, observations: &[Observation], verdict: &Verdict) {
    let (reason, allowed) = match (sample.op.contract(&sample.drawn.case), verdict) {
        (Contract::Unspecified(reason), _) => (reason, false),
        (Contract::Accepts { .. }, Verdict::Partly(reason)) => (*reason, false),
        (Contract::Accepts { refusal: Some(reason), .. }, _) => (reason, true),
        (Contract::Accepts { refusal: None, .. } | Contract::Rejects(_), _) => return,
    };
    for observation in observations {
        if !allowed || matches!(observation.outcome, Outcome::Rejected(_)) {
            let outcomes = tally.reasons.entry(reason.to_string()).or_default();
            *outcomes.entry(format!("{} {}", observation.device, observation.outcome.name())).or_default() += 1;
        }
    }
}

fn add(counts: &mut Counts, verdict: &Verdict) {
    counts.cases += 1;
    match verdict {
        Verdict::Pass => counts.passed += 1,
        Verdict::Partly(_) => counts.partly += 1,
        Verdict::Skip(_) => counts.skipped += 1,
        Verdict::Fail(_) => counts.failed += 1,
    }
}

/// The features of the views of these tensors, each once.
fn views<'a>(tensors: impl Iterator<Item = &'a Tensor>) -> Vec<&'static str> {
    let mut seen = [false; 6];
    const NAMES: [&str; 6] = ["contiguous", "permuted", "narrowed", "strided", "broadcast", "zero-size"];
    for Tensor { view, shape, .. } in tensors {
        let has = [
            view.is_contiguous(),
            !view.order.is_empty(),
            !view.before.is_empty() || !view.after.is_empty(),
            !view.step.is_empty(),
            !view.broadcast.is_empty(),
            shape.contains(&0),
        ];
        seen.iter_mut().zip(has).for_each(|(seen, has)| *seen |= has);
    }
    seen[0] &= !seen[1..5].contains(&true);
    NAMES.into_iter().zip(seen).filter(|(_, seen)| *seen).map(|(name, _)| name).collect()
}
