//! What a wrong value needs, as its site says it: a view, a dtype, non-finite values, many elements, several rows, one kind of
//! device; and how far off the value is. A failure that does without what a known one needs is another one.

mod value_site;

use std::collections::BTreeSet;
use std::fmt;

use super::{Kind, OracleName, Signature};
use crate::device::Device;

pub use value_site::{site_among_devices, site_of_ties, value_site};

/// A part of the site of a wrong value, in the order in which the site lists them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// The same values in contiguous tensors, each with a buffer of its own, give the right result.
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
    /// Equal elements, where the op picks one: only the sum of their gradients is known.
    Ties,
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
    const ALL: [Self; 13] = [
        Self::View,
        Self::ReducedPrecision,
        Self::Double,
        Self::Integers,
        Self::NonFinite,
        Self::Many,
        Self::Rows,
        Self::Ties,
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
            Self::Ties => "among equals",
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
            let has = |need| needs.all.contains(&need);
            (needs.gradient_of.map(ToString::to_string), has(Need::View), has(Need::Ties))
        };
        if self.has_needs() { self.is_of_kind(other) && lasting(self) == lasting(other) } else { self == other }
    }

    /// Whether `other`, of a case in a plainer dtype or with finite values, is the same failure in its plain form.
    pub fn is_plainly(&self, other: &Self) -> bool {
        let (own, its) = (Needs::parse(&self.site), Needs::parse(&other.site));
        // NaN among the inputs makes NaN of any wrong value.
        let becomes_finite = own.all.contains(&Need::NonFinite) && !its.all.contains(&Need::NonFinite);
        let lasts = |need: &&Need| match need {
            Need::View | Need::Ties | Need::Gpu | Need::Cpu => true,
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
