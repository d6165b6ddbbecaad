//! How far results may be apart by what the documents leave open. The simulated device computes the case again and again, with
//! approximations elsewhere within their documented bounds and sums in another order; the results span the envelope.

use super::difference::{Difference, compare, parts};
use super::values::Values;
use crate::outcome::{Outcome, Returned};

/// How many times the span of the samples a result may be off: samples seldom reach both ends.
const FACTOR: f64 = 2.0;

/// What the samples of an element are.
#[derive(Debug, Clone, Copy, Default)]
struct Span {
    /// The largest distance of a finite one from the base.
    distance: f64,
    /// The bits of those that are finite, positive and negative infinity, and NaN.
    classes: u8,
}

impl Span {
    /// Whether a device may have `got` where the simulated one has `base`.
    fn holds(&self, base: f64, got: f64) -> bool {
        let alike = class(base) == class(got);
        if alike && base.is_finite() {
            (base - got).abs() <= FACTOR * self.distance
        } else {
            alike || self.classes & class(got) != 0
        }
    }
}

/// The bit of a number that is finite, positive or negative infinity, or NaN.
fn class(value: f64) -> u8 {
    match value {
        _ if value.is_finite() => 1,
        f64::INFINITY => 2,
        f64::NEG_INFINITY => 4,
        _ => 8,
    }
}

/// The results that a simulated device may return.
#[derive(Debug)]
pub struct Envelope {
    /// Without jitter.
    base: Returned,
    /// Of each element of each tensor.
    spans: Vec<Vec<Span>>,
    /// Samples that end in another way.
    others: Vec<Outcome>,
}

impl Envelope {
    /// The envelope around `base` without any sample.
    pub fn new(base: &Returned) -> Self {
        let spans =
            parts(base).iter().map(|(_, tensor)| vec![Span::default(); tensor.elements().unwrap_or(0)]).collect();
        Self { base: base.clone(), spans, others: Vec::new() }
    }

    /// Takes a sample in.
    pub fn add(&mut self, sample: Outcome) {
        let base = Outcome::Returned(self.base.clone());
        let comparable = !matches!(
            compare(&base, &sample, &mut Values::default()),
            Some(Difference::End(..) | Difference::Shape(_))
        );
        match &sample {
            Outcome::Returned(sample) if comparable => {
                for (spans, ((_, base), (_, tensor))) in
                    self.spans.iter_mut().zip(parts(&self.base).into_iter().zip(parts(sample)))
                {
                    for (span, (a, b)) in spans.iter_mut().zip(base.floats().into_iter().zip(tensor.floats())) {
                        if b.is_finite() && a.is_finite() {
                            span.distance = span.distance.max((a - b).abs());
                        }
                        span.classes |= class(b);
                    }
                }
            }
            _ => self.others.push(sample),
        }
    }

    /// Whether `outcome` is one that the documents allow.
    pub fn holds(&self, outcome: &Outcome) -> bool {
        let base = Outcome::Returned(self.base.clone());
        let same = |other: &Outcome| compare(other, outcome, &mut Values::default()).is_none();
        match (compare(&base, outcome, &mut Values::default()), outcome) {
            (None, _) => true,
            (Some(Difference::Values(_)), Outcome::Returned(returned)) => {
                self.spans.iter().zip(parts(&self.base).into_iter().zip(parts(returned))).all(
                    |(spans, ((_, base), (_, got)))| {
                        let pairs = base.floats().into_iter().zip(got.floats());
                        spans.iter().zip(pairs).all(|(span, (a, b))| span.holds(a, b))
                    },
                )
            }
            _ => self.others.iter().any(same),
        }
    }
}
