//! Compares outputs with the `f64` reference, within its running error bound. NaN and infinities must appear exactly where the
//! reference has them.

use super::compare::{Agreement, compare};
use super::{Evidence, Kind, OracleName, Site, Verdict, fail, needs};
use crate::number::Num;
use crate::ops::why;
use crate::outcome::{Observation, Outcome, Returned};
use crate::tensor::Tensor;
use ndarray::ArrayD;

pub fn judge(evidence: &Evidence, seen: &Observation) -> Verdict {
    let Outcome::Returned(returned) = &seen.outcome else { return Verdict::Skip("nothing returned") };
    let Some(expected) = evidence.expected() else { return Verdict::Skip("no reference") };
    match first_difference(evidence, expected, returned) {
        Err(Incomparable) => Verdict::Partly(why::ORDER),
        Ok(None) => Verdict::Pass,
        Ok(Some(detail)) => {
            let only_in_a_view = contiguous_is_right(evidence, expected, seen);
            let site = Site::Needs(needs::of_value(evidence, seen, only_in_a_view, None));
            fail(OracleName::Reference, Kind::WrongValue, site, seen, detail)
        }
    }
}

/// Whether the same values in contiguous tensors give the right result.
fn contiguous_is_right(evidence: &Evidence, expected: &[ArrayD<Num>], seen: &Observation) -> bool {
    match &seen.contiguous {
        Some(Outcome::Returned(returned)) => matches!(first_difference(evidence, expected, returned), Ok(None)),
        _ => false,
    }
}

/// No element has a known value.
struct Incomparable;

/// Describes the first element that differs; an `Err` if no element could be compared.
fn first_difference(
    evidence: &Evidence,
    expected: &[ArrayD<Num>],
    returned: &Returned,
) -> Result<Option<String>, Incomparable> {
    let mut compared = 0;
    for (want, got) in expected.iter().zip(&returned.outputs) {
        for (position, (want, value)) in want.iter().zip(got.floats()).enumerate() {
            match compare(want, value, got.dtype, evidence.op.ulps) {
                Agreement::Same => compared += 1,
                Agreement::Unknown => {}
                Agreement::Different => return Ok(Some(describe(want, value, position, got, evidence.op.ulps))),
            }
        }
    }
    let elements: usize = expected.iter().map(ArrayD::len).sum();
    if compared == 0 && elements > 0 { Err(Incomparable) } else { Ok(None) }
}

fn describe(want: &Num, got: f64, position: usize, tensor: &Tensor, ulps: f64) -> String {
    let bound = want.error * ulps;
    let want = within(want.value, bound);
    format!("element {position} of {}{:?}: expected {want}, got {got:?}", tensor.dtype, tensor.shape)
}

/// A value and how far from it a result may be: `exactly 2.0`, `0.1 ± 1.5e-8`.
pub fn within(value: f64, bound: f64) -> String {
    if bound == 0.0 { format!("exactly {value:?}") } else { format!("{value:?} ± {bound:.1e}") }
}
