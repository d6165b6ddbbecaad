//! Compares devices with each other when no other oracle applies: whether they accept the case, then what they return.

use ndarray::ArrayD;

use super::layout::first_difference;
use super::{Evidence, Kind, OracleName, Site, Verdict, fail};
use crate::number::Num;
use crate::ops::{Contract, why};
use crate::outcome::{Observation, Outcome, Refusal, Returned};
use crate::tensor::DType;

pub fn judge(evidence: &Evidence, seen: &Observation) -> Verdict {
    let first = &evidence.observations[0];
    if first.device == seen.device {
        return Verdict::Skip("one device");
    }
    // That one device lacks a kernel does not excuse the difference.
    let may_refuse =
        matches!(&evidence.contract, Contract::Accepts { refusal: Some(why), .. } if !why::is_of_a_kernel(why));
    match (&first.outcome, &seen.outcome) {
        (Outcome::Returned(_), Outcome::Rejected(_)) | (Outcome::Rejected(_), Outcome::Returned(_)) if may_refuse => {
            Verdict::Skip("a device may reject this")
        }
        (Outcome::Returned(_), Outcome::Rejected(refusal)) => one_accepts(evidence, seen, first, seen, refusal),
        (Outcome::Rejected(refusal), Outcome::Returned(_)) => one_accepts(evidence, seen, seen, first, refusal),
        (Outcome::Returned(left), Outcome::Returned(right)) => {
            let forms = match &evidence.contract {
                Contract::Unspecified(_) => forms(first, left, seen, right),
                _ => Verdict::Pass,
            };
            if forms == Verdict::Pass { values(evidence, first, left, seen, right) } else { forms }
        }
        _ => Verdict::Pass,
    }
}

/// Whether two devices return the same values, as far as the reference does not know them. Either may be as good, but not both.
fn values(evidence: &Evidence, first: &Observation, left: &Returned, seen: &Observation, right: &Returned) -> Verdict {
    let difference = match evidence.expected() {
        _ if evidence.is_open() => None,
        Some(expected) => unknown_integers(expected, left, right),
        None => different_integers(left, right).or_else(|| first_difference(left, right)),
    };
    let Some(difference) = difference else { return Verdict::Pass };
    let detail = format!("{} and {} differ: {difference}", first.device, seen.device);
    fail(OracleName::Agreement, Kind::WrongValue, Site::Call, seen, detail)
}

/// The first integer that differs. Integers have no roundings that an order of operations could decide.
fn different_integers(left: &Returned, right: &Returned) -> Option<String> {
    let pairs = left.outputs.iter().zip(&right.outputs).filter(|(left, _)| !left.dtype.is_float());
    pairs.filter(|(left, right)| left.shape == right.shape).find_map(|(left, right)| {
        let (left, right) = (left.ints(), right.ints());
        let place = left.iter().zip(&right).position(|(left, right)| left != right)?;
        Some(format!("element {place}: {} and {}", left[place], right[place]))
    })
}

/// The first integer that differs among those that the reference does not know, such as casts of numbers out of range.
fn unknown_integers(expected: &[ArrayD<Num>], left: &Returned, right: &Returned) -> Option<String> {
    let outputs = expected.iter().zip(left.outputs.iter().zip(&right.outputs));
    outputs.filter(|(_, (left, right))| !left.dtype.is_float() && left.shape == right.shape).find_map(
        |(expected, (left, right))| {
            let (left, right) = (left.ints(), right.ints());
            let pairs = expected.iter().zip(left.iter().zip(&right));
            let is_other = |(want, (left, right)): (&Num, (&i64, &i64))| {
                want.error.is_infinite() && !want.indeterminate && left != right
            };
            let place = pairs.into_iter().position(is_other)?;
            Some(format!("element {place}, whose value is not specified: {} and {}", left[place], right[place]))
        },
    )
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
