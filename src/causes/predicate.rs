//! When a failure shows a cause: conditions on its name, its devices, its site and its case, which all hold.

use std::collections::BTreeMap;

use fast_glob::{glob_match, validate};
use serde::Deserialize;

use super::Sighting;
use super::condition::{InputCondition, When};
use crate::case::Case;
use crate::device::Device;
use crate::ops::{self, Op};
use crate::oracle::{Need, Signature};
use crate::store::regression::Backend;

/// Conditions that all hold for a failure. One that is missing matches everything.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Predicate {
    /// A pattern of the name: the op, the oracle, the kind, the site.
    pub name: Pattern,
    /// Every device that shows it is of this kind.
    #[serde(default)]
    device: Option<Backend>,
    /// One of the devices that show it is of this kind.
    #[serde(default)]
    among: Option<Backend>,
    /// The function or the kernel in which it fails.
    #[serde(default)]
    at: Option<String>,
    /// How the value is wrong: in one of these ways.
    #[serde(default)]
    wrong: Vec<Wrong>,
    /// The steps are made in several threads, or on several device objects.
    #[serde(default)]
    across: Option<Across>,
    /// Conditions on inputs; `*` is an input of any name.
    #[serde(default)]
    inputs: BTreeMap<String, InputCondition>,
    /// An expression of params and sizes.
    #[serde(default)]
    when: Option<When>,
}

/// A pattern of names. The part before the first `--` is a pattern of ops.
#[derive(Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct Pattern(String);

impl Pattern {
    /// True if a failure of `op` may match.
    pub fn is_of(&self, op: &Op) -> bool {
        glob_match(ops_of(&self.0), op.name)
    }

    /// True if it matches the name of a failure.
    pub fn fits(&self, failure: &str) -> bool {
        glob_match(&self.0, failure)
    }
}

/// The part of a pattern that is a pattern of ops.
fn ops_of(pattern: &str) -> &str {
    pattern.split("--").next().unwrap_or_default()
}

impl TryFrom<String> for Pattern {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        let valid = validate(&text).and_then(|()| validate(ops_of(&text)));
        valid.map_err(|error| format!("`{text}` is not a pattern: {error}"))?;
        Ok(Self(text))
    }
}

impl std::fmt::Display for Pattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// The things that the steps of a sequence are spread over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Across {
    Threads,
    Devices,
}

impl Across {
    fn holds(self, case: &Case) -> bool {
        match self {
            Self::Threads => !case.threads.is_empty(),
            Self::Devices => !case.devices.is_empty(),
        }
    }
}

/// How a value is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Wrong {
    /// By more than roundings may add up to.
    Grossly,
    /// By no more than roundings may add up to.
    Rounding,
    /// NaN or an infinity in place of a number.
    NotFinite,
    /// A number in place of NaN or an infinity, or one of these in place of another.
    Finite,
}

impl Wrong {
    fn of(signature: &Signature) -> Self {
        match () {
            () if signature.needs(Need::Rounding) => Self::Rounding,
            () if signature.needs(Need::NotFinite) => Self::NotFinite,
            () if signature.needs(Need::Finite) => Self::Finite,
            () => Self::Grossly,
        }
    }
}

impl Predicate {
    /// True if it holds for `sighting`.
    pub fn holds(&self, sighting: &Sighting) -> bool {
        let Sighting { signature, case, devices, .. } = sighting;
        if !self.name.fits(&signature.slug()) {
            return false;
        }
        let Some(op) = ops::find(&signature.op) else { return false };
        let device = self.device.is_none_or(|kind| devices.iter().all(|&device| kind.has(device)))
            && self.among.is_none_or(|kind| devices.iter().any(|&device| kind.has(device)));
        let at =
            self.at.as_deref().is_none_or(|function| signature.site.spot().is_some_and(|spot| spot.name() == function));
        let wrong = self.wrong.is_empty() || self.wrong.contains(&Wrong::of(signature));
        device && at && wrong && self.is_of(op, case)
    }

    /// True if the name matches and the conditions on inputs, params and sizes hold; `None` if the name does not match.
    pub fn fits_case(&self, sighting: &Sighting) -> Option<bool> {
        let Sighting { signature, case, .. } = sighting;
        let is_named = self.name.fits(&signature.slug());
        is_named.then(|| ops::find(&signature.op).is_some_and(|op| self.is_of(op, case)))
    }

    /// True if a call of `op` on `device` may show it: there are conditions on the case, and they hold.
    pub fn may_hold(&self, op: &Op, case: &Case, device: Device) -> bool {
        let is_given = !self.inputs.is_empty() || self.when.is_some();
        let mut kinds = [self.device, self.among].into_iter().flatten();
        let fits = self.name.is_of(op) && kinds.all(|kind| kind.has(device));
        is_given && fits && self.is_of(op, case)
    }

    /// True if the conditions on inputs, params and sizes hold. It is false if the op lacks one of these.
    fn is_of(&self, op: &Op, case: &Case) -> bool {
        let inputs = self.inputs.iter().all(|(name, condition)| {
            let mut meant = case.inputs.iter().filter(|(own, _)| name == "*" || *own == name);
            meant.any(|(_, tensor)| condition.holds(tensor))
        });
        let across = self.across.is_none_or(|across| across.holds(case));
        self.check_for(op).is_ok() && across && inputs && self.when.as_ref().is_none_or(|when| when.holds(op, case))
    }

    /// Refuses a condition on an input or a param that an op of the pattern does not have.
    pub fn check(&self) -> Result<(), String> {
        let is_given = self.inputs.keys().any(|name| name != "*") || self.when.is_some();
        let mut ops = ops::ALL.iter().filter(|op| is_given && self.name.is_of(op));
        ops.try_for_each(|op| self.check_for(op))
    }

    fn check_for(&self, op: &Op) -> Result<(), String> {
        let inputs = self.inputs.keys().filter(|name| *name != "*").cloned();
        let has_input = |name: &String| op.inputs.iter().any(|spec| spec.name == name);
        let has_param = |name: &String| op.params.iter().any(|spec| spec.name == name);
        let no_input = inputs.into_iter().find(|name| !has_input(name));
        let names = self.when.as_ref().map(When::names).unwrap_or_default();
        let unknown = names.into_iter().find(|name| !has_input(name) && !has_param(name));
        match (no_input, unknown) {
            (Some(name), _) => Err(format!("`inputs.{name}`: `{}` has no such input", op.name)),
            (None, Some(name)) => Err(format!("`when`: `{}` has no input or param `{name}`", op.name)),
            (None, None) => Ok(()),
        }
    }
}
