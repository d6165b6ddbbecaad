//! What makes two failures the same, as far as their signatures say.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Kind, Need, Needs, OracleName, Site};
use crate::device::Device;
use crate::outcome::CudaError;

/// Identifies a finding: failures with the same signature count as one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(from = "KeptSignature")]
#[schemars(!from, deny_unknown_fields)]
#[allow(missing_docs)]
pub struct Signature {
    pub op: String,
    pub oracle: OracleName,
    #[schemars(with = "String")]
    pub kind: Kind,
    #[schemars(with = "String")]
    pub site: Site,
}

/// A signature as it is kept: its site is read by its oracle and kind.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KeptSignature {
    op: String,
    oracle: OracleName,
    kind: Kind,
    site: String,
}

impl From<KeptSignature> for Signature {
    fn from(kept: KeptSignature) -> Self {
        Self::new(kept.op, kept.oracle, kept.kind, &kept.site)
    }
}

impl Signature {
    /// The signature whose site has this text.
    pub fn new(op: impl Into<String>, oracle: OracleName, kind: impl Into<Kind>, site: &str) -> Self {
        let kind = kind.into();
        let site = Site::parse(oracle, &kind, site);
        Self { op: op.into(), oracle, kind, site }
    }

    /// The signature as a folder's name.
    pub fn slug(&self) -> String {
        let site = self.site.to_string();
        let parts = [self.op.as_str(), self.oracle.name(), self.kind.name(), site.as_str()];
        let parts = parts.map(|part| {
            let words = part.split(|c: char| !(c.is_ascii_alphanumeric() || "._".contains(c)));
            words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-").to_lowercase()
        });
        parts.iter().filter(|part| !part.is_empty()).cloned().collect::<Vec<_>>().join("--")
    }

    /// What the wrong value needs, if it is one.
    fn wrong_value(&self) -> Option<&Needs> {
        match &self.site {
            Site::Needs(needs) => Some(needs),
            _ => None,
        }
    }

    /// Whether it is a wrong value that needs `need`.
    pub fn needs(&self, need: Need) -> bool {
        self.wrong_value().is_some_and(|needs| needs.has(need))
    }

    /// Whether a plainer case may have a plainer signature: of another dtype, or one that [`may_shrink`](Self::may_shrink).
    pub fn may_be_plainer(&self) -> bool {
        let dtype = |need| matches!(need, Need::ReducedPrecision | Need::Double);
        self.may_shrink() || self.wrong_value().is_some_and(|needs| needs.any(dtype))
    }

    /// Whether the minimizer may find a case with a plainer signature.
    pub fn may_shrink(&self) -> bool {
        self.wrong_value().is_some_and(|needs| needs.any(Need::is_of_the_case))
    }

    /// Whether `other` is the same failure, of a case that has more than this failure needs, or in which it shows less.
    pub fn covers(&self, other: &Self) -> bool {
        self == other || self.both_need(other).is_some_and(|(own, its)| own.cover(its))
    }

    /// Whether `other` is the same failure, apart from what other dtypes, sizes and values change in its site.
    pub fn is_alike(&self, other: &Self) -> bool {
        self == other || self.both_need(other).is_some_and(|(own, its)| own.are_alike(its))
    }

    /// Whether `other`, of a case in a plainer dtype or with finite values, is the same failure in its plain form.
    pub fn is_plainly(&self, other: &Self) -> bool {
        match self.both_need(other) {
            Some((own, its)) => own.are_plainly(its),
            None => self.is_of_kind(other),
        }
    }

    /// True if only a device that checks each access shows it reliably. On another, the case may fault, return some value, or
    /// seem right.
    pub fn only_checkers_tell(&self) -> bool {
        let is_address = self.kind == Kind::Fault(CudaError::IllegalAddress);
        is_address || self.oracle == OracleName::Checker || matches!(self.kind, Kind::Report(_))
    }

    /// What two wrong values of one kind need.
    fn both_need<'a>(&'a self, other: &'a Self) -> Option<(&'a Needs, &'a Needs)> {
        self.wrong_value().zip(other.wrong_value()).filter(|_| self.is_of_kind(other))
    }

    fn is_of_kind(&self, other: &Self) -> bool {
        (&self.op, self.oracle, &self.kind) == (&other.op, other.oracle, &other.kind)
    }

    /// The signature as devices of one kind alone show it, the CPU or GPUs: that the other kind is right is not seen there.
    #[must_use]
    pub fn seen_only_on(&self, device: Device) -> Self {
        let own = if device == Device::Cpu { Need::Cpu } else { Need::Gpu };
        if self.needs(own) { self.on_one_device() } else { self.clone() }
    }

    /// The signature as one device alone shows it: nothing says what another one does.
    #[must_use]
    pub fn on_one_device(&self) -> Self {
        match self.wrong_value() {
            Some(needs) => Self { site: Site::Needs(needs.on_one_device()), ..self.clone() },
            None => self.clone(),
        }
    }
}

impl std::fmt::Display for Signature {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {} ({})", self.op, self.kind, self.oracle)?;
        let site = self.site.to_string();
        if site.is_empty() { Ok(()) } else { write!(f, ", {site}") }
    }
}
