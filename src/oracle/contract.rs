//! Checks the contract: valid calls are accepted, invalid ones refused with an `Err`, and outputs have the right shapes and
//! dtypes.

use super::site::{by_function, site};
use super::{Evidence, Kind, OracleName, Verdict, fail};
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
                (*rule).into(),
                seen,
                format!("expected an Err ({rule}); got {shown}"),
            )
        }
        // An empty launch fails before anything else is looked at, so it shows no missing check.
        (Outcome::Rejected(refusal), Contract::Rejects(rule))
            if refusal.is_of_a_library() && !has_nothing(evidence) =>
        {
            let site = format!("{rule}, left to the device");
            let detail = format!("expected an Err of candle ({rule}); got one of the device: {}", refusal.message);
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
                _ if contiguous_is_fine => "in a view",
                _ if has_nothing(evidence) => "of nothing",
                variant => variant,
            };
            let detail = format!("expected Ok; got Err: {}", refusal.message);
            fail(OracleName::Contract, Kind::RefusedValid, site.to_string(), seen, detail)
        }
        (Outcome::Returned(_) | Outcome::Rejected(_), Contract::Unspecified(why)) => Verdict::Partly(why),
        (Outcome::Panicked(panic), Contract::Unspecified(why)) if is_overflow(panic, why) => Verdict::Partly(why),
        (Outcome::OutOfMemory(_) | Outcome::TimedOut(_), Contract::Unspecified(why)) if asks_for_much(evidence) => {
            Verdict::Partly(why)
        }
        (Outcome::TimedOut(_), Contract::Accepts { .. }) if evidence.contract.elements(evidence.case) > SMALL => {
            Verdict::Skip("slower than the deadline, and large")
        }
        (outcome, contract) => broken(seen, outcome, contract),
    }
}

/// Whether a call whose result is not specified for the reason `why` panics because elements overflow: they do so in a checked build
/// of Rust only.
pub(super) fn is_overflow(panic: &Panic, why: &str) -> bool {
    let in_arithmetic =
        by_function(&panic.place).starts_with("Affine::f ") || panic.place.starts_with("candle-core/src/op.rs");
    let of_elements = why == why::OVERFLOW || in_arithmetic;
    of_elements && panic.message.ends_with(" with overflow")
}

/// A refusal of a view whose values candle accepts in contiguous tensors. candle says that it wants them so; PyTorch takes any
/// layout, and so does candle's other backend in most ops.
fn limitation(seen: &Observation, refusal: &Refusal, why: &str) -> Option<Verdict> {
    let contiguous_is_fine = matches!(seen.contiguous, Some(Outcome::Returned(_)));
    let detail = format!("the same values are accepted in contiguous tensors; got Err: {}", refusal.message);
    let limited = || fail(OracleName::Contract, Kind::Limitation, "in a view".to_string(), seen, detail);
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
            (Kind::NotRefused, (*rule).to_string())
        }
        Outcome::Panicked(panic) => (Kind::Panic, site(&panic.place, panic.phase)),
        Outcome::Died(death) => (Kind::Died, site(&signal_name(death.signal), death.phase)),
        Outcome::StackOverflow(phase) => (Kind::StackOverflow, site("", *phase)),
        Outcome::TimedOut(phase) => (Kind::Hang, site("", *phase)),
        Outcome::OutOfMemory(phase) => (Kind::OutOfMemory, site("", *phase)),
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
        return fail(OracleName::Contract, Kind::WrongShape, String::new(), seen, detail);
    }
    for (got, (dtype, shape)) in returned.outputs.iter().zip(outputs) {
        if got.shape != *shape {
            let detail = format!("expected an output of shape {shape:?}, got {:?}", got.shape);
            return fail(OracleName::Contract, Kind::WrongShape, String::new(), seen, detail);
        }
        if got.dtype != *dtype {
            let detail = format!("expected an output of dtype {dtype}, got {}", got.dtype);
            return fail(OracleName::Contract, Kind::WrongDtype, String::new(), seen, detail);
        }
    }
    if returned.tracked {
        let detail = "expected no gradient, as no input is a variable; an output is tracked for one".to_string();
        return fail(OracleName::Contract, Kind::Tracked, String::new(), seen, detail);
    }
    Verdict::Pass
}
