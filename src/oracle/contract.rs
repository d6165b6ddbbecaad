//! Checks the contract: valid calls are accepted, invalid ones refused with an `Err`, and outputs have the right shapes and
//! dtypes.

use super::{Evidence, Kind, OracleName, Site, Spot, Verdict, fail};
use crate::case::Param;
use crate::ops::{Contract, SMALL, why};
use crate::outcome::{Observation, Outcome, Panic, Refusal, Returned, signal_name};

pub fn judge(evidence: &Evidence, seen: &Observation) -> Verdict {
    match (&seen.outcome, &evidence.contract) {
        (Outcome::Unsupported(_), _) => Verdict::Skip("unsupported by the device"),
        (Outcome::Faulted(_), _) => Verdict::Pass, // judged by the fault oracle
        (Outcome::Returned(returned), Contract::Accepts { outputs, .. }) => shapes(seen, returned, outputs),
        (Outcome::Returned(returned), Contract::Rejects(rule)) => {
            let shown = Outcome::Returned(returned.clone()).summary();
            fail(
                OracleName::Contract,
                Kind::NotRefused,
                Site::Rule(rule),
                seen,
                format!("expected an Err ({rule}); got {shown}"),
            )
        }
        // An empty launch fails before anything else is looked at, so it shows no missing check.
        (Outcome::Rejected(refusal), Contract::Rejects(rule))
            if refusal.is_of_a_library() && !has_nothing(evidence) =>
        {
            let site = Site::LeftToTheDevice(rule);
            let detail = format!("expected an Err from candle ({rule}); got one from the device: {}", refusal.message);
            fail(OracleName::Contract, Kind::NotRefused, site, seen, detail)
        }
        (Outcome::Rejected(_), Contract::Rejects(_)) => Verdict::Pass,
        (Outcome::Rejected(refusal), Contract::Accepts { refusal: Some(why), .. }) => {
            limitation(seen, refusal, why).unwrap_or(Verdict::Pass)
        }
        (Outcome::Rejected(_), Contract::Accepts { .. }) if !evidence.supported(seen.device) => Verdict::Pass,
        (Outcome::Rejected(refusal), Contract::Accepts { .. }) => {
            let contiguous_is_fine = matches!(seen.contiguous, Some(Outcome::Returned(_)));
            let site = match refusal.variant.as_str() {
                _ if contiguous_is_fine => Site::View,
                _ if has_nothing(evidence) => Site::Empty,
                variant => Site::Variant(variant.to_string()),
            };
            let detail = format!("expected Ok; got Err: {}", refusal.message);
            fail(OracleName::Contract, Kind::RefusedValid, site, seen, detail)
        }
        (Outcome::Returned(_) | Outcome::Rejected(_), Contract::Unspecified(why)) => Verdict::Partly(why),
        (Outcome::Panicked(panic), Contract::Unspecified(why)) if is_overflow(panic, why) => Verdict::Partly(why),
        // Without these panics the call may go on to the check.
        (Outcome::Panicked(panic), Contract::Rejects(_)) if is_overflow(panic, "") => {
            Verdict::Skip("integers overflow before a check")
        }
        (Outcome::OutOfMemory(_) | Outcome::TimedOut(_), Contract::Unspecified(why)) if asks_for_much(evidence) => {
            Verdict::Partly(why)
        }
        (Outcome::TimedOut(_), Contract::Accepts { .. }) if evidence.contract.elements(evidence.case) > SMALL => {
            Verdict::Skip("slower than the deadline, and large")
        }
        (outcome, contract) => broken(seen, outcome, contract),
    }
}

/// True if a call that is invalid, or whose result is not specified for the reason `why`, panics because elements overflow: they do
/// so in a checked build of Rust only.
pub(super) fn is_overflow(panic: &Panic, why: &str) -> bool {
    let is_in_op_rs = panic.place.file_and_line().is_some_and(|(file, _)| file == "candle-core/src/op.rs");
    let in_arithmetic =
        matches!(Spot::of(&panic.place), Some(Spot::Function { name, .. }) if name == "Affine::f") || is_in_op_rs;
    let of_elements = why == why::OVERFLOW || in_arithmetic;
    of_elements && panic.message.ends_with(" with overflow")
}

/// A refusal of a view whose values candle accepts in contiguous tensors. candle says that it wants them so; PyTorch takes any
/// layout, and so does candle's other backend in most ops.
fn limitation(seen: &Observation, refusal: &Refusal, why: &str) -> Option<Verdict> {
    let contiguous_is_fine = matches!(seen.contiguous, Some(Outcome::Returned(_)));
    let detail = format!("contiguous tensors with the same values are accepted; got Err: {}", refusal.message);
    let limited = || fail(OracleName::Contract, Kind::Limitation, Site::View, seen, detail);
    (why == why::CONTIGUOUS && contiguous_is_fine).then(limited)
}

/// Whether a call whose outputs are not specified may have large ones: a size among its params is large, or an input is.
fn asks_for_much(evidence: &Evidence) -> bool {
    let params = evidence.case.params.values().flat_map(Param::leaves);
    let factor = |leaf: &Param| match leaf {
        Param::Number(value) => value.as_f64().abs(),
        other => other.size().map_or(0.0, |size| size as f64),
    };
    let factors = params.map(factor).filter(|factor| *factor > 1.0);
    // What makes a tensor may read none.
    let elements = evidence.contract.elements(evidence.case).max(1);
    elements as f64 * factors.product::<f64>() > SMALL as f64
}

/// Whether an input has no elements.
fn has_nothing(evidence: &Evidence) -> bool {
    evidence.case.inputs.values().any(|tensor| tensor.elements() == Some(0))
}

/// The call neither returned nor refused, which is never right. If it should have refused, a check is missing and its rule
/// is the site. Otherwise the site is the function.
fn broken(seen: &Observation, outcome: &Outcome, contract: &Contract) -> Verdict {
    let (kind, site) = match outcome {
        // Whether an unchecked argument panics, exhausts the memory or passes depends on the other arguments.
        Outcome::Panicked(_) | Outcome::OutOfMemory(_) | Outcome::TimedOut(_)
            if let Contract::Rejects(rule) = contract =>
        {
            (Kind::NotRefused, Site::Rule(rule))
        }
        Outcome::Panicked(panic) => (Kind::Panic, Site::at(&panic.place, panic.phase)),
        Outcome::Died(death) => (Kind::Died, Site::Signal(signal_name(death.signal), death.phase)),
        Outcome::StackOverflow(phase) => (Kind::StackOverflow, Site::Phase(*phase)),
        Outcome::TimedOut(phase) => (Kind::Hang, Site::Phase(*phase)),
        Outcome::OutOfMemory(phase) => (Kind::OutOfMemory, Site::Phase(*phase)),
        Outcome::Returned(_) | Outcome::Rejected(_) | Outcome::Faulted(_) | Outcome::Unsupported(_) => {
            return Verdict::Pass;
        }
    };
    let expected = match contract {
        Contract::Accepts { .. } => "Ok".to_string(),
        Contract::Rejects(rule) => format!("an Err ({rule})"),
        Contract::Unspecified(why) => format!("Ok or an Err ({why})"),
    };
    fail(OracleName::Contract, kind, site, seen, format!("expected {expected}; got {}", outcome.summary()))
}

fn shapes(seen: &Observation, returned: &Returned, outputs: &[(crate::tensor::DType, Vec<usize>)]) -> Verdict {
    if returned.outputs.len() != outputs.len() {
        let detail = format!("expected {} outputs, got {}", outputs.len(), returned.outputs.len());
        return fail(OracleName::Contract, Kind::WrongShape, Site::Call, seen, detail);
    }
    for (got, (dtype, shape)) in returned.outputs.iter().zip(outputs) {
        if got.shape != *shape {
            let detail = format!("expected an output of shape {shape:?}, got {:?}", got.shape);
            return fail(OracleName::Contract, Kind::WrongShape, Site::Call, seen, detail);
        }
        if got.dtype != *dtype {
            let detail = format!("expected an output of dtype {dtype}, got {}", got.dtype);
            return fail(OracleName::Contract, Kind::WrongDtype, Site::Call, seen, detail);
        }
    }
    if returned.tracked {
        let detail = "expected untracked outputs, as no input is a variable; an output is tracked".to_string();
        return fail(OracleName::Contract, Kind::Tracked, Site::Call, seen, detail);
    }
    Verdict::Pass
}
