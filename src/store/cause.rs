//! The likely cause of a finding, as the finding itself shows it: a kernel, a function or a message.

use super::Finding;
use crate::ops;
use crate::oracle::{Site, Violation};
use crate::outcome::{Gradients, Outcome};
use crate::tensor::DType;

/// The likely cause that findings share.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// The kernel that the device blames.
    Kernel(String),
    /// The function of candle that panics, or whose assertion fails.
    Function(String),
    /// candle's error message without numbers and names of dtypes. If only one device accepts the dtype, with that dtype.
    Message(String),
}

impl std::fmt::Display for Cause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Kernel(name) => write!(f, "the device blames the kernel {name}"),
            Self::Function(function) => write!(f, "in {function}"),
            Self::Message(text) => write!(f, "candle answers: {text}"),
        }
    }
}

impl Cause {
    /// The cause that the violation alone shows.
    pub fn of(violation: &Violation) -> Option<Self> {
        if let Some((_, rest)) = violation.detail.split_once("; at ")
            && let Some((kernel, _)) = rest.split_once("() in ")
        {
            return Some(Self::Kernel(kernel.to_string()));
        }
        Self::at(&violation.site)
    }

    /// The function that a site names.
    pub fn at(site: &Site) -> Option<Self> {
        let blamed = site.spot().filter(|spot| spot.is_to_blame());
        blamed.map(|spot| Self::Function(spot.to_string()))
    }

    /// The cause that the violation and what the devices did show.
    pub fn of_finding(finding: &Finding) -> Option<Self> {
        Self::of(&finding.violation).or_else(|| {
            let device = finding.violation.device;
            let seen = finding.observations.iter().find(|seen| seen.device == device)?;
            let refusal = match &seen.outcome {
                Outcome::Rejected(refusal) => refusal,
                Outcome::Returned(returned) => match &returned.backward {
                    Gradients::Rejected(refusal) => refusal,
                    Gradients::NotAsked | Gradients::Returned(_) => return None,
                },
                _ => return None,
            };
            let one_device = finding.signature.site == Site::DTypeOfOneDevice;
            let dtype = ops::find(&finding.case.op).filter(|_| one_device).and_then(|op| op.dtype(&finding.case));
            let of = dtype.map_or_else(String::new, |dtype| format!(", of {dtype}"));
            Some(Self::Message(without_names(&refusal.message) + &of))
        })
    }
}

/// The message without numbers, dtypes and layouts.
fn without_names(message: &str) -> String {
    let message = message.split(" lstride: ").next().unwrap_or_default();
    let is_dtype = |word: &str| DType::ALL.iter().any(|dtype| dtype.name().eq_ignore_ascii_case(word));
    let words = message.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    let words =
        words.filter(|word| !word.is_empty() && !word.starts_with(|c: char| c.is_ascii_digit()) && !is_dtype(word));
    words.collect::<Vec<_>>().join(" ")
}
