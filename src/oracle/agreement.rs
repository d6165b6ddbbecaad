//! Compares devices with each other when no other oracle applies: whether they accept the case, then what they return.

use super::layout::first_difference;
use super::{Evidence, Kind, OracleName, Site, Verdict, fail};
use crate::ops::Contract;
use crate::outcome::{Observation, Outcome, Refusal, Returned};
use crate::tensor::DType;

pub fn judge(evidence: &Evidence, seen: &Observation) -> Verdict {
    let first = &evidence.observations[0];
    if first.device == seen.device {
        return Verdict::Skip("one device");
    }
    let may_refuse = matches!(&evidence.contract, Contract::Accepts { refusal: Some(_), .. });
    match (&first.outcome, &seen.outcome) {
        (Outcome::Returned(_), Outcome::Rejected(_)) | (Outcome::Rejected(_), Outcome::Returned(_)) if may_refuse => {
            Verdict::Skip("a device may reject this")
        }
        (Outcome::Returned(_), Outcome::Rejected(refusal)) => one_accepts(evidence, seen, first, seen, refusal),
        (Outcome::Rejected(refusal), Outcome::Returned(_)) => one_accepts(evidence, seen, seen, first, refusal),
        // If the value is not specified, either may be as good.
        (Outcome::Returned(left), Outcome::Returned(right))
            if matches!(evidence.contract, Contract::Unspecified(_)) =>
        {
            forms(first, left, seen, right)
        }
        (Outcome::Returned(left), Outcome::Returned(right)) if evidence.expected().is_none() => {
            match first_difference(left, right) {
                None => Verdict::Pass,
                Some(difference) => {
                    let detail = format!("{} and {} differ: {difference}", first.device, seen.device);
                    fail(OracleName::Agreement, Kind::WrongValue, Site::Call, seen, detail)
                }
            }
        }
        _ => Verdict::Pass,
    }
}

/// Whether two devices return as many outputs, of the same shapes and dtypes.
fn forms(first: &Observation, left: &Returned, seen: &Observation, right: &Returned) -> Verdict {
    let form = |returned: &Returned| -> Vec<(DType, Vec<usize>)> {
        returned.outputs.iter().map(|output| (output.dtype, output.shape.clone())).collect()
    };
    let (left, right) = (form(left), form(right));
    if left == right {
        return Verdict::Pass;
    }
    let dtypes = |form: &[(DType, Vec<usize>)]| form.iter().map(|(dtype, _)| *dtype).collect::<Vec<_>>();
    let kind = if dtypes(&left) == dtypes(&right) { Kind::WrongShape } else { Kind::WrongDtype };
    let shown = |form: &[(DType, Vec<usize>)]| {
        form.iter().map(|(dtype, shape)| format!("{dtype}{shape:?}")).collect::<Vec<_>>().join(", ")
    };
    let detail = format!("{} returns {}, {} returns {}", first.device, shown(&left), seen.device, shown(&right));
    fail(OracleName::Agreement, kind, Site::Call, seen, detail)
}

/// `accepts` returned and `refuses` did not. If candle supports the dtype on only one of them, that is the site: one
/// finding per op, not one per dtype.
fn one_accepts(
    evidence: &Evidence,
    seen: &Observation,
    accepts: &Observation,
    refuses: &Observation,
    refusal: &Refusal,
) -> Verdict {
    if !evidence.supported(accepts.device) && !evidence.supported(refuses.device) {
        return Verdict::Skip("a dtype that no device supports");
    }
    let detail = format!("Ok on {}, Err on {}: {}", accepts.device, refuses.device, refusal.message);
    let empty = evidence.case.inputs.values().any(|tensor| tensor.elements() == Some(0));
    let site = match refusal.variant.as_str() {
        _ if evidence.op.support.on(refuses.device).is_empty() => Site::OpOfOneDevice,
        variant @ "RequiresContiguous" => Site::Variant(variant.to_string()),
        _ if !evidence.supported(refuses.device) => Site::DTypeOfOneDevice,
        // candle has no kernel for the dtype of another input.
        "Cuda" if refusal.message.contains("NOT_FOUND") => Site::DTypeOfOneDevice,
        _ if empty => Site::Empty,
        variant => Site::Variant(variant.to_string()),
    };
    fail(OracleName::Agreement, Kind::OnlyOneAccepts, site, seen, detail)
}
