//! What changes from one candle to another in a case, judged from the observations with both. Like the oracles it executes nothing.
//!
//! Both sides are judged for themselves first. What only one of them violates is a change, whatever else is known of the op. Where no
//! oracle sees a difference, results are compared with each other.

mod cost;
mod values;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Evidence, Kind, Need, OracleName, Signature, Site, Violation, judge};
use crate::device::Device;
use crate::outcome::{Observation, Outcome, Phase, Place, signal_name};

pub use cost::{Spent, costlier};

/// The classes of changes, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// A promise breaks that did not break before.
    NewlyFailing,
    /// Nothing is promised of the call, and it panics or hangs where it returned or was refused before.
    NewlyCrashing,
    /// The result is another one, by more than its error bound, and no oracle says which is right.
    Changed,
    /// A call is refused that was accepted before, or its backward pass.
    NewlyRefused,
    /// The same promise breaks as before, in another place or way.
    FailsOtherwise,
    /// It takes several times as much processor time.
    Slower,
    /// It takes several times as much memory.
    Hungrier,
    /// A call is accepted that was refused before or crashed, or its backward pass, or there is a gradient that was missing.
    NewlyAccepted,
    /// A promise is kept that broke before.
    NewlyPassing,
}

impl Class {
    /// The text form.
    pub fn name(self) -> &'static str {
        match self {
            Self::NewlyFailing => "newly failing",
            Self::NewlyCrashing => "newly crashing",
            Self::Changed => "changed",
            Self::NewlyRefused => "newly refused",
            Self::FailsOtherwise => "fails otherwise",
            Self::Slower => "slower",
            Self::Hungrier => "hungrier",
            Self::NewlyAccepted => "newly accepted",
            Self::NewlyPassing => "newly passing",
        }
    }

    /// Whether a person should look at it before the change is merged.
    pub fn needs_a_look(self) -> bool {
        !matches!(self, Self::NewlyAccepted | Self::NewlyPassing)
    }
}

/// One change in a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Its class.
    pub class: Class,
    /// What breaks now, or broke before, if a promise does.
    pub signature: Option<Signature>,
    /// Otherwise what the op does that it did not do before, structurally: `returns a different value`.
    pub site: String,
    /// On which device.
    pub device: Device,
    /// The difference, for people.
    pub detail: String,
}

impl Change {
    /// Whether `other`, from one run with a candle to another run with it, says that this change may be as little one.
    pub fn is_doubted_by(&self, other: &Self) -> bool {
        let is_of_repetition =
            self.signature.as_ref().is_some_and(|signature| signature.oracle == OracleName::Determinism);
        other.class == self.class || is_of_repetition && other.class == Class::Changed
    }

    /// Whether `other`, of a case of the same op, is the same change.
    pub fn is_same(&self, other: &Self) -> bool {
        (self.class, &self.signature, &self.site) == (other.class, &other.signature, &other.site)
    }

    /// Whether `other` is the same change, in a case that has more than this change needs.
    pub fn covers(&self, other: &Self) -> bool {
        let covers = match (&self.signature, &other.signature) {
            (Some(own), Some(its)) => own.covers(its),
            (own, its) => own == its,
        };
        covers && (self.class, &self.site) == (other.class, &other.site)
    }

    /// Whether `other`, of a case in a plainer dtype or with finite values, is the same change in its plain form.
    pub fn is_plainly(&self, other: &Self) -> bool {
        let is_plainly = match (&self.signature, &other.signature) {
            (Some(own), Some(its)) => own.is_plainly(its),
            (own, its) => own == its,
        };
        is_plainly && (self.class, &self.site) == (other.class, &other.site)
    }
}

/// What changes from `base` to `head`, the evidence of one case with two candles on the same devices.
pub fn changes(base: &Evidence, head: &Evidence) -> Vec<Change> {
    if base.observations == head.observations {
        // Verdicts depend on nothing else.
        return Vec::new();
    }
    let [before, after] = [base, head].map(|evidence| judge(evidence).violations().to_vec());
    let mut found: Vec<Change> = Vec::new();
    for (old, new) in base.observations.iter().zip(head.observations) {
        let is_unsupported = |seen: &Observation| matches!(seen.outcome, Outcome::Unsupported(_));
        if is_unsupported(old) || is_unsupported(new) {
            continue;
        }
        let judged = of_violations(base, old.device, &before, &after);
        let mut of_results = values::between((base, old), (head, new), &judged);
        if after.iter().any(|it| it.devices().any(|device| device == new.device)) {
            for change in &mut of_results {
                change.detail += "; both break a promise here";
            }
        }
        for change in judged.into_iter().chain(of_results) {
            // The same on another device is the same change.
            if !found.iter().any(|known| known.is_same(&change)) {
                found.push(change);
            }
        }
    }
    found.sort_by_key(|change| change.class);
    found
}

/// What breaks on only one side on `device`.
fn of_violations(base: &Evidence, device: Device, before: &[Violation], after: &[Violation]) -> Vec<Change> {
    let op = base.op.name;
    let without = |own: &[Violation], other: &[Violation]| -> Vec<Violation> {
        let is_there =
            |it: &Violation| other.iter().any(|its| same(it, its, op) && its.devices().any(|at| at == device));
        own.iter().filter(|it| it.devices().any(|at| at == device) && !is_there(it)).cloned().collect()
    };
    let (gone, new) = (without(before, after), without(after, before));
    let is_alike = |one: &Violation, other: &Violation| (one.oracle, &one.kind) == (other.oracle, &other.kind);
    let change = |class, it: &Violation| Change {
        class,
        signature: Some(it.signature(op)),
        site: String::new(),
        device,
        detail: it.detail.clone(),
    };
    let failing = new.iter().map(|it| {
        let moved = gone.iter().any(|old| is_alike(old, it) && (names_a_place(it) || is_less(it, old, op)));
        change(if moved { Class::FailsOtherwise } else { Class::NewlyFailing }, it)
    });
    // What fails in another way does not pass.
    let passing = gone.iter().filter(|old| !new.iter().any(|it| is_alike(it, old)));
    failing.chain(passing.map(|it| change(Class::NewlyPassing, it))).collect()
}

fn same(one: &Violation, other: &Violation, op: &str) -> bool {
    one.signature(op) == other.signature(op)
}

/// Whether the site of a violation is a place in candle or an error's variant, which a mere move of code changes.
fn names_a_place(violation: &Violation) -> bool {
    !matches!(violation.kind, Kind::WrongValue | Kind::NotRefused | Kind::MissingGradient)
}

/// Whether a wrong value is one that `old` covers: it needs more, or is off by less.
fn is_less(new: &Violation, old: &Violation, op: &str) -> bool {
    let (new, old) = (new.signature(op), old.signature(op));
    old.covers(&new) || new.needs(Need::Rounding) && !old.needs(Need::Rounding)
}

/// Whether a violation concerns gradients alone.
fn is_of_gradients(change: &Change) -> bool {
    let oracle = change.signature.as_ref().map(|signature| signature.oracle);
    matches!(oracle, Some(OracleName::Gradient | OracleName::SecondDerivative))
}

/// Where a call ended that neither returned nor was refused.
fn end(outcome: &Outcome) -> Option<String> {
    let at = |what: &str, place: &Place| format!("{what} in {}", Site::at(place, Phase::Forward));
    Some(match outcome {
        Outcome::Returned(_) | Outcome::Rejected(_) | Outcome::Unsupported(_) => return None,
        Outcome::Panicked(panic) => at("panics", &panic.place),
        Outcome::Faulted(fault) => at("breaks the CUDA context", &fault.place),
        Outcome::Died(death) => format!("kills its process ({})", signal_name(death.signal)),
        Outcome::StackOverflow(_) => "overflows the stack".to_string(),
        Outcome::TimedOut(_) => "does not return".to_string(),
        Outcome::OutOfMemory(_) => "runs out of memory".to_string(),
    })
}
