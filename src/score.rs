//! How much the suite notices: changes of one instruction of candle's kernels, made by the simulated device one at a time,
//! and what becomes of drawn cases that launch the kernel.

mod baseline;
mod choose;
mod mutant;
mod text;
mod trace;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use schemars::JsonSchema;
use serde::Serialize;

use crate::device::Device;
use crate::exec::Limits;
use crate::ops::Op;
use crate::oracle::{Kind, OracleName};

pub use baseline::{Baseline, Healthy};
pub use choose::choose;
pub use mutant::run;
pub use text::markdown;
pub use trace::Change;

/// What is run.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The ops whose cases are drawn.
    pub ops: Vec<&'static Op>,
    /// The devices, one of them simulated: that one's kernels are changed.
    pub devices: Vec<Device>,
    /// Decides every case, and which mutants are chosen.
    pub seed: u64,
    /// How many cases of each op are drawn, and on how many a mutant is run at most.
    pub cases: usize,
    /// How many mutants are made.
    pub mutants: usize,
    /// How many threads run cases, each with workers of its own.
    pub jobs: usize,
    /// What a case may use up.
    pub limits: Limits,
}

/// A kernel and one of the changes that can be made to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen {
    /// The kernel.
    pub kernel: String,
    /// The change's number, as `SNUFFER_SIM_MUTATE=KERNEL:#NUMBER` makes it.
    pub number: usize,
}

/// What became of all mutants.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Score {
    /// `snuffer` and candle.
    pub versions: String,
    /// What the cases and mutants were chosen by.
    pub seed: u64,
    /// How many ops had cases.
    pub ops: usize,
    /// How many cases were drawn and run without a change.
    pub drawn: usize,
    /// On how many cases a mutant was run at most.
    pub cases: usize,
    /// How many kernels those cases launched.
    pub kernels: usize,
    /// How many changes can be made to those.
    pub changes: usize,
    /// How many of them are known to make no difference; none of those is a mutant.
    pub equivalent: usize,
    /// How many mutants were chosen.
    pub chosen: usize,
    /// Those that were run: fewer where it was interrupted.
    pub mutants: Vec<Mutant>,
}

/// One changed kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Mutant {
    /// The kernel and the number of the change: what `SNUFFER_SIM_MUTATE` makes again.
    pub name: String,
    /// What the change does.
    pub change: String,
    /// What it changes: file and line.
    pub place: String,
    /// On how many cases it was run.
    pub cases: usize,
    /// What became of it.
    pub fate: Fate,
}

/// What became of a mutant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// The last of its cases failed as it does not without the change.
    Noticed(Noticed),
    /// None did.
    Survived(Difference),
}

/// How a mutant was noticed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Noticed {
    /// The oracle that says so.
    #[schemars(with = "String")]
    pub oracle: OracleName,
    /// How the promise broke; of a fault, which one it is.
    #[schemars(with = "String")]
    pub kind: Kind,
    /// The op whose case it was.
    pub op: String,
}

/// What cases show of a mutant that survived, the most last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Difference {
    /// No case executed what was changed.
    NotReached,
    /// It was executed, and every bit was as it is without the change, but for cases that fail without it.
    NoneSeen,
    /// Something differed where nothing is promised.
    NotPromised,
    /// Something differed within what is promised.
    Allowed,
}

impl Difference {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::NotReached => "not reached",
            Self::NoneSeen => "no difference seen",
            Self::NotPromised => "differs where nothing is promised",
            Self::Allowed => "differs within what is promised",
        }
    }
}

/// Each number below `count`, once, until `stop` is set.
fn numbers(count: usize, stop: &AtomicBool) -> impl Fn() -> Option<u64> + Sync {
    let next = AtomicU64::new(0);
    move || {
        let number = next.fetch_add(1, Ordering::Relaxed);
        (!stop.load(Ordering::Relaxed) && number < count as u64).then_some(number)
    }
}
