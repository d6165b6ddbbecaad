//! What a wrong value needs, as its site says it: a view, a dtype, non-finite values, many elements, several rows, one kind of
//! device; and how far off the value is. A failure that does without what a known one needs is another one.

use std::collections::BTreeSet;
use std::fmt;

use super::verdict::place;
use super::{Evidence, Kind, OracleName, Signature, Verdict, Violation, gradient};
use crate::case::weight;
use crate::device::Device;
use crate::outcome::{Gradients, Observation, Outcome};
use crate::tensor::{DType, Tensor};

/// A part of the site of a wrong value, in the order in which the site lists them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// The same values in contiguous tensors give the right result.
    View,
    /// A float dtype with fewer digits than `f32`.
    ReducedPrecision,
    /// `f64`.
    Double,
    /// Integers.
    Integers,
    /// NaN or an infinity among the inputs.
    NonFinite,
    /// An input of more than [`MANY`] elements.
    Many,
    /// An input with several rows: more than one entry along the first of its dimensions. A view has rows of its own.
    Rows,
    /// Off by no more than roundings may add up to.
    Rounding,
    /// NaN or an infinity in place of a number.
    NotFinite,
    /// A number in place of NaN or an infinity, or one of these in place of another.
    Finite,
    /// The CPU returns something right.
    Gpu,
    /// The GPU returns something right.
    Cpu,
}

/// More elements than a block has threads: kernels and vectorized loops go on in another way from there.
const MANY: usize = 1024;

impl Need {
    const ALL: [Self; 12] = [
        Self::View,
        Self::ReducedPrecision,
        Self::Double,
        Self::Integers,
        Self::NonFinite,
        Self::Many,
        Self::Rows,
        Self::Rounding,
        Self::NotFinite,
        Self::Finite,
        Self::Gpu,
        Self::Cpu,
    ];

    /// The words in the site.
    fn words(self) -> &'static str {
        match self {
            Self::View => "in a view",
            Self::ReducedPrecision => "in reduced precision",
            Self::Double => "in f64",
            Self::Integers => "of integers",
            Self::NonFinite => "of non-finite values",
            Self::Many => "of more than 1024 elements",
            Self::Rows => "in several rows",
            Self::Rounding => "by a rounding",
            Self::NotFinite => "that is not finite",
            Self::Finite => "that should not be finite",
            Self::Gpu => "on the GPU alone",
            Self::Cpu => "on the CPU alone",
        }
    }

    /// Whether another case may fail alike without it: the minimizer tries to do without.
    fn is_of_the_case(self) -> bool {
        matches!(self, Self::NonFinite | Self::Many | Self::Rows)
    }

    fn is_of_the_device(self) -> bool {
        matches!(self, Self::Gpu | Self::Cpu)
    }
}

/// The site of a wrong value: of a gradient or of an output, and what it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Needs<'a> {
    gradient_of: Option<&'a str>,
    all: BTreeSet<Need>,
}

impl<'a> Needs<'a> {
    /// The needs in a site.
    fn parse(site: &'a str) -> Self {
        let named = |part: &str| Need::ALL.into_iter().find(|need| need.words() == part);
        Self {
            gradient_of: site.split(", ").find_map(|part| part.strip_prefix("gradient of ")),
            all: site.split(", ").filter_map(named).collect(),
        }
    }
}

impl fmt::Display for Needs<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gradient = self.gradient_of.map(|input| format!("gradient of {input}"));
        let needs = self.all.iter().map(|need| need.words().to_string());
        f.write_str(&gradient.into_iter().chain(needs).collect::<Vec<_>>().join(", "))
    }
}

impl Signature {
    /// Whether it is a wrong value that needs `need`.
    pub fn needs(&self, need: Need) -> bool {
        self.has_needs() && Needs::parse(&self.site).all.contains(&need)
    }

    /// Whether the site says what a wrong value needs.
    fn has_needs(&self) -> bool {
        has_needs(self.oracle, &self.kind)
    }

    /// Whether a plainer case may have a plainer signature: of another dtype, or one that [`may_shrink`](Self::may_shrink).
    pub fn may_be_plainer(&self) -> bool {
        let dtype = |need: &Need| matches!(need, Need::ReducedPrecision | Need::Double);
        self.may_shrink() || self.has_needs() && Needs::parse(&self.site).all.iter().any(dtype)
    }

    /// Whether the minimizer may find a case with a plainer signature.
    pub fn may_shrink(&self) -> bool {
        self.has_needs() && Needs::parse(&self.site).all.iter().any(|need| need.is_of_the_case())
    }

    /// Whether `other` is the same failure, of a case that has more than this failure needs, or in which it shows less.
    pub fn covers(&self, other: &Self) -> bool {
        if self == other {
            return true;
        }
        let (own, its) = (Needs::parse(&self.site), Needs::parse(&other.site));
        // What is grossly wrong in one case is off by little in another. Then nothing says on which device.
        let shows_less = its.all.contains(&Need::Rounding);
        let is_there = |need: &Need| its.all.contains(need) || shows_less && need.is_of_the_device();
        self.is_of_kind(other)
            && self.has_needs()
            && own.gradient_of == its.gradient_of
            && own.all.iter().all(is_there)
            && its.all.difference(&own.all).all(|need| need.is_of_the_case() || *need == Need::Rounding)
    }

    /// Whether `other` is the same failure, apart from what other dtypes, sizes and values change in its site.
    pub fn is_alike(&self, other: &Self) -> bool {
        let lasting = |signature: &Self| {
            let needs = Needs::parse(&signature.site);
            (needs.gradient_of.map(ToString::to_string), needs.all.contains(&Need::View))
        };
        if self.has_needs() { self.is_of_kind(other) && lasting(self) == lasting(other) } else { self == other }
    }

    /// Whether `other`, of a case in a plainer dtype or with finite values, is the same failure in its plain form.
    pub fn is_plainly(&self, other: &Self) -> bool {
        let (own, its) = (Needs::parse(&self.site), Needs::parse(&other.site));
        // NaN among the inputs makes NaN of any wrong value.
        let becomes_finite = own.all.contains(&Need::NonFinite) && !its.all.contains(&Need::NonFinite);
        let lasts = |need: &&Need| match need {
            Need::View | Need::Gpu | Need::Cpu => true,
            Need::Rounding | Need::NotFinite | Need::Finite => !becomes_finite,
            _ => false,
        };
        let lasting = |needs: &Needs| needs.all.iter().filter(lasts).copied().collect::<Vec<_>>();
        let same_needs = || own.gradient_of == its.gradient_of && lasting(&own) == lasting(&its);
        self.is_of_kind(other) && (!self.has_needs() || same_needs())
    }

    fn is_of_kind(&self, other: &Self) -> bool {
        (&self.op, self.oracle, &self.kind) == (&other.op, other.oracle, &other.kind)
    }

    /// The signature as devices of one kind alone show it, the CPU or GPUs: that the other kind is right is not seen there.
    #[must_use]
    pub fn seen_only_on(&self, device: Device) -> Self {
        let own = if device == Device::Cpu { Need::Cpu } else { Need::Gpu };
        let is_its_own = self.has_needs() && Needs::parse(&self.site).all.contains(&own);
        if is_its_own { self.on_one_device() } else { self.clone() }
    }

    /// The signature as one device alone shows it: nothing says what another one does.
    #[must_use]
    pub fn on_one_device(&self) -> Self {
        if !self.has_needs() {
            return self.clone();
        }
        let mut needs = Needs::parse(&self.site);
        needs.all.retain(|need| !need.is_of_the_device());
        Self { site: needs.to_string(), ..self.clone() }
    }
}

/// Whether violations of this kind say what they need.
fn has_needs(oracle: OracleName, kind: &Kind) -> bool {
    *kind == Kind::WrongValue && [OracleName::Reference, OracleName::Gradient].contains(&oracle)
}

/// The site of a wrong value on the device of `seen`, of the gradient of `input` or of an output.
pub fn value_site(evidence: &Evidence, seen: &Observation, only_in_a_view: bool, input: Option<&str>) -> String {
    let case = evidence.case;
    let any = |is: fn(&Tensor) -> bool| case.inputs.values().any(is);
    let error = match input {
        None => error_of_outputs(evidence, seen),
        Some(input) => error_of_gradient(evidence, seen, input),
    };
    let needs = [
        (Need::View, only_in_a_view),
        (Need::ReducedPrecision, any(|tensor| tensor.dtype.is_reduced_precision())),
        (Need::Double, any(|tensor| tensor.dtype == DType::F64)),
        (Need::Integers, evidence.op.dtype(case).is_some_and(|dtype| !dtype.is_float())),
        (Need::NonFinite, evidence.any_value(|value| !value.is_finite())),
        (Need::Many, any(|tensor| tensor.elements().is_none_or(|count| count > MANY))),
        (Need::Rows, !only_in_a_view && any(|tensor| tensor.shape.len() > 1 && tensor.shape[0] > 1)),
    ];
    let needs = needs.into_iter().filter(|(_, is_so)| *is_so).map(|(need, _)| need);
    Needs { gradient_of: input, all: needs.chain(error).collect() }.to_string()
}

/// How far off an output is; `None` if an element is grossly wrong.
fn error_of_outputs(evidence: &Evidence, seen: &Observation) -> Option<Need> {
    let Outcome::Returned(returned) = &seen.outcome else { return None };
    let mut worst = Need::Rounding;
    let expected = evidence.expected()?.iter().zip(evidence.expectations(returned));
    for ((reference, elements), got) in expected.zip(&returned.outputs) {
        let (peaks, values): (Vec<f64>, _) = (reference.iter().map(|want| want.peak).collect(), got.floats());
        for one in elements.iter().filter(|one| !one.kept) {
            let (peak, value) = (peaks[one.position], values[one.position]);
            worst = worst.max(error(one.value, value, got.dtype, peak, one.within)?);
        }
    }
    Some(worst)
}

/// How far off the gradient of `input` is, in all its elements together; `None` if grossly.
fn error_of_gradient(evidence: &Evidence, seen: &Observation, input: &str) -> Option<Need> {
    let Outcome::Returned(returned) = &seen.outcome else { return None };
    let Gradients::Returned(store) = &returned.backward else { return None };
    let grad = store.gradients.get(input)?;
    let weights: Vec<f64> = (0..grad.elements()?).map(weight).collect();
    let tensor = &evidence.case.inputs[input];
    if tensor.stored() != Some(weights.len()) {
        return None;
    }
    let parts: Vec<f64> = grad.floats().iter().zip(&weights).map(|(grad, weight)| grad * weight).collect();
    let want = gradient::derivative(evidence, input, tensor, &weights);
    let spread = parts.iter().map(|part| part.abs()).sum::<f64>().max(want.slope.abs());
    error(want.slope, parts.iter().sum(), grad.dtype, spread, want.slope_error)
}

/// How far `got` is from `want`, which comes from numbers up to `size` and may be off by `within`. `None` if grossly: by more than a
/// thousandth, by more than half of the digits of those numbers, and far beyond the bound.
fn error(want: f64, got: f64, dtype: DType, size: f64, within: f64) -> Option<Need> {
    const SHARE: f64 = 1e-3;
    const BEYOND: f64 = 4.0;
    if !want.is_finite() {
        return Some(Need::Finite);
    }
    if !got.is_finite() {
        return Some(Need::NotFinite);
    }
    let rounding = (dtype.unit_roundoff().sqrt() * size).max(SHARE * want.abs()).max(BEYOND * within);
    (dtype.is_float() && (got - want).abs() <= rounding).then_some(Need::Rounding)
}

/// The site of a violation, with the kind of device that it needs: another one returns something right. Roundings differ from
/// device to device anyway.
pub fn site_among_devices(evidence: &Evidence, verdicts: &[Vec<Verdict>], violation: &Violation) -> String {
    let mut needs = Needs::parse(&violation.site);
    if !has_needs(violation.oracle, &violation.kind) || needs.all.contains(&Need::Rounding) {
        return violation.site.clone();
    }
    let is_wrong = |other: &Violation| Needs::parse(&other.site).gradient_of == needs.gradient_of;
    let is_right = |verdict: &Verdict| match verdict {
        Verdict::Pass => true,
        Verdict::Partly(_) | Verdict::Skip(_) => false,
        Verdict::Fail(others) => !others.iter().any(is_wrong),
    };
    let on_cpu = |device: Device| device == Device::Cpu;
    let seen = evidence.observations.iter().zip(verdicts);
    let mut others = seen.filter(|(seen, _)| on_cpu(seen.device) != on_cpu(violation.device));
    if others.clone().next().is_some() && others.all(|(_, own)| is_right(&own[place(violation.oracle)])) {
        needs.all.insert(if on_cpu(violation.device) { Need::Cpu } else { Need::Gpu });
    }
    needs.to_string()
}
