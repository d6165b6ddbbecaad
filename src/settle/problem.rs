//! What a campaign settles: how a case fails, which failures are one, and how a failure is proven.

use super::promise;
use crate::case::Case;
use crate::examine::Patience;
use crate::ops::{Contract, Op};

/// A failure of a case, as it is compared with other failures of the same op.
pub trait Failure: Clone {
    /// Whether `other` is the same failure.
    fn is_same(&self, other: &Self) -> bool;

    /// Whether this failure explains `other`: it is the same one, or it needs less.
    fn covers(&self, other: &Self) -> bool;

    /// The one of `found`, in a case of a plainer dtype or with finite values, that is this failure in its plain form.
    fn plain_form<'a>(&self, found: &'a [Self]) -> Option<&'a Self>;
}

/// How a case fails.
#[derive(Debug)]
pub struct Seen<F> {
    /// The failures, the main one first.
    pub failures: Vec<F>,
    /// Whether a device did not finish in time. More patience may show another result then.
    pub is_late: bool,
}

/// How much is done to prove a failure that does not show in the first new process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// Nothing.
    One,
    /// Several more tries.
    All,
}

/// A kind of failure, and the workers that show it.
pub trait Problem {
    /// How a case fails.
    type Failure: Failure;
    /// What proves it.
    type Proof;

    /// How `case` fails.
    fn failures(&mut self, op: &'static Op, case: &Case, patience: Patience) -> anyhow::Result<Seen<Self::Failure>>;

    /// Proves in new processes that `case` fails in this way; `None` if it does not.
    fn prove(
        &mut self,
        op: &'static Op,
        case: &Case,
        failure: &Self::Failure,
        effort: Effort,
    ) -> anyhow::Result<Option<Self::Proof>>;

    /// Whether a simpler case may have this contract, where the case has `own`.
    fn keeps(&self, own: &Contract, simpler: &Contract) -> bool {
        promise::keeps(own, simpler)
    }

    /// Whether the campaign must end now, with what it has.
    fn is_stopped(&self) -> bool {
        false
    }
}
