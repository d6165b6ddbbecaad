//! A batch must return for each sample what the call returns for this sample alone, where a definition says that samples do not depend on
//! each other.

use super::slack::{Slack, are_apart};
use super::{Evidence, Kind, OracleName, Site, Verdict, fail};
use crate::ops::own;
use crate::outcome::{Observation, Outcome};
use crate::tensor::Tensor;

pub fn judge(evidence: &Evidence, seen: &Observation) -> Verdict {
    if seen.samples.is_empty() {
        return Verdict::Skip("no samples that stand alone");
    }
    if seen.again.is_some() {
        return Verdict::Skip("its own runs differ");
    }
    // Samples are made contiguous: the layout is judged elsewhere.
    let Outcome::Returned(batch) = seen.contiguous.as_ref().unwrap_or(&seen.outcome) else {
        return Verdict::Skip("nothing returned");
    };
    let mut otherwise = Verdict::Skip("numbers of which roundings may leave nothing");
    for (sample, alone) in own::samples(evidence.case).iter().zip(&seen.samples) {
        // A sample that fails is a case of its own.
        let Outcome::Returned(alone) = alone else { continue };
        for (part, alone) in sample.parts(&batch.outputs).iter().zip(&alone.outputs) {
            let Some(part) = part else { continue };
            // Of this sample and of what all share; the other samples may be as large as they like.
            let Some(slack) = Slack::of(&sample.case, part.dtype) else { continue };
            if let Some(difference) = first_difference(part, alone, &slack) {
                let detail = format!("sample {}: {difference}", sample.place);
                return fail(OracleName::Samples, Kind::Differs, Site::Call, seen, detail);
            }
            otherwise = Verdict::Pass;
        }
    }
    otherwise
}

/// The first element that is a number of moderate size in one of both, and further from the other than roundings explain.
fn first_difference(part: &Tensor, alone: &Tensor, slack: &Slack) -> Option<String> {
    if part.shape != alone.shape {
        return Some(format!("shape {:?} in the batch, {:?} alone", part.shape, alone.shape));
    }
    let fits = |value: f64| value.abs() < part.dtype.max() / 4.0;
    let pairs: Vec<(f64, f64)> = part.floats().into_iter().zip(alone.floats()).collect();
    let sizes = pairs.iter().flat_map(|pair| [pair.0.abs(), pair.1.abs()]);
    let bound = slack.beside(sizes.filter(|&size| fits(size)).fold(0.0, f64::max));
    let is_off = |&(a, b): &(f64, f64)| (fits(a) || fits(b)) && are_apart(a, b, bound);
    let position = pairs.iter().position(is_off)?;
    let (in_batch, alone) = pairs[position];
    Some(format!("element {position} is {in_batch:?} in the batch, and {alone:?} alone"))
}
