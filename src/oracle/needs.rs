//! What a wrong value needs, as its site says it: a view, a dtype, non-finite values, many elements, several rows, one kind of
//! device; and how far off the value is. A failure that does without what a known one needs is another one.

mod value_site;

use std::collections::BTreeSet;
use std::fmt;

pub use value_site::{of_ties, of_value};

/// A part of the site of a wrong value, in the order in which the site lists them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
    /// An input of more than `MANY` elements.
    Many,
    /// An input with several rows: more than one entry along the first of its dimensions. A view has rows of its own.
    Rows,
    /// Equal elements, or several for one place, where the op picks one: only what they get together is known.
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
    pub(super) fn is_of_the_case(self) -> bool {
        matches!(self, Self::NonFinite | Self::Many | Self::Rows)
    }

    fn is_of_the_device(self) -> bool {
        matches!(self, Self::Gpu | Self::Cpu)
    }
}

/// The site of a wrong value: of a gradient or of an output, and what it needs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Needs {
    /// The input whose gradient is wrong; `None` if it is an output.
    pub gradient_of: Option<String>,
    all: BTreeSet<Need>,
}

impl Needs {
    /// The needs with this text.
    pub(super) fn parse(text: &str) -> Self {
        let named = |part: &str| Need::ALL.into_iter().find(|need| need.words() == part);
        let gradient_of = text.split(", ").find_map(|part| part.strip_prefix("gradient of "));
        Self { gradient_of: gradient_of.map(ToString::to_string), all: text.split(", ").filter_map(named).collect() }
    }

    /// The needs without those of a kind of device.
    #[must_use]
    pub(super) fn on_one_device(&self) -> Self {
        Self { all: self.iter().filter(|need| !need.is_of_the_device()).collect(), ..self.clone() }
    }

    /// The needs with `need`.
    #[must_use]
    pub(super) fn with(mut self, need: Need) -> Self {
        self.all.insert(need);
        self
    }

    /// Whether it needs `need`.
    pub fn has(&self, need: Need) -> bool {
        self.all.contains(&need)
    }

    /// The first `count` of them, which matter most.
    #[must_use]
    pub fn first(&self, count: usize) -> Self {
        Self { all: self.all.iter().take(count).copied().collect(), ..self.clone() }
    }

    /// Each of them, those that matter most first.
    pub fn iter(&self) -> impl Iterator<Item = Need> {
        self.all.iter().copied()
    }

    pub(super) fn any(&self, is: impl Fn(Need) -> bool) -> bool {
        self.all.iter().any(|need| is(*need))
    }

    /// Whether `other` is the same failure, of a case that has more than this failure needs, or in which it shows less.
    pub(super) fn cover(&self, other: &Self) -> bool {
        // What is grossly wrong in one case is off by little in another. Then nothing says on which device.
        let shows_less = other.has(Need::Rounding);
        let is_there = |need: &Need| other.has(*need) || shows_less && need.is_of_the_device();
        self.gradient_of == other.gradient_of
            && self.all.iter().all(is_there)
            && other.all.difference(&self.all).all(|need| need.is_of_the_case() || *need == Need::Rounding)
    }

    /// Whether `other`, of a case in a plainer dtype or with finite values, is the same failure in its plain form.
    pub(super) fn are_plainly(&self, other: &Self) -> bool {
        // NaN among the inputs makes NaN of any wrong value.
        let becomes_finite = self.has(Need::NonFinite) && !other.has(Need::NonFinite);
        let lasts = |need: &&Need| match need {
            Need::View | Need::Ties | Need::Gpu | Need::Cpu => true,
            Need::Rounding | Need::NotFinite | Need::Finite => !becomes_finite,
            _ => false,
        };
        self.gradient_of == other.gradient_of && self.all.iter().filter(lasts).eq(other.all.iter().filter(lasts))
    }

    /// Whether `other` differs only in what other dtypes, sizes and values change.
    pub(super) fn are_alike(&self, other: &Self) -> bool {
        let lasting = |needs: &Self| (needs.has(Need::View), needs.has(Need::Ties));
        self.gradient_of == other.gradient_of && lasting(self) == lasting(other)
    }
}

impl fmt::Display for Needs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gradient = self.gradient_of.as_ref().map(|input| format!("gradient of {input}"));
        let needs = self.all.iter().map(|need| need.words().to_string());
        f.write_str(&gradient.into_iter().chain(needs).collect::<Vec<_>>().join(", "))
    }
}
