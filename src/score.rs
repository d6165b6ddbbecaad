//! The mutation score: how many small changes in candle the suite notices. Either the simulated device changes one instruction
//! of one of candle's kernels at a time, or a worker switches on one of the mutants of the host code that are compiled into it.
//! Drawn cases that reach the change are run.

mod baseline;
mod choose;
mod host;
mod mutant;
mod places;
mod subject;
mod text;
mod trace;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use schemars::JsonSchema;
use serde::Serialize;

use crate::device::Device;
use crate::exec::{Variable, WorkerSpec};
use crate::ops::Op;
use crate::oracle::{Kind, OracleName};

pub use baseline::{Baseline, BaselineCase};
pub use choose::choose;
pub use mutant::run;
pub use subject::{Reached, Subject, is_entered};
pub use text::markdown;
pub use trace::{Change, Changes, Launched, Trace};

/// The plan of a run.
#[derive(Debug, Clone)]
pub struct Plan {
    /// What is changed.
    pub subject: Subject,
    /// The ops whose cases are drawn.
    pub ops: Vec<&'static Op>,
    /// The devices. If kernels are changed, those of the one that is simulated.
    pub devices: Vec<Device>,
    /// Decides every case and the choice of mutants.
    pub seed: u64,
    /// How many cases to draw of each op, and on how many to run a mutant at most.
    pub cases: usize,
    /// How many mutants to run.
    pub mutants: usize,
    /// How many threads run cases, each with its own workers.
    pub jobs: usize,
    /// The workers.
    pub spec: WorkerSpec,
}

impl Plan {
    /// The workers of the build that has the changes, with one more environment variable.
    fn workers(&self, variable: Variable) -> WorkerSpec {
        WorkerSpec { build: self.subject.build(), ..self.spec.with([variable]) }
    }
}

/// A kernel or function, and one of its possible changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen {
    /// The kernel, or the file and name of the function.
    pub of: String,
    /// The number of the change: for kernels that of `SNUFFER_SIM_MUTATE=KERNEL:#NUMBER`.
    pub number: usize,
}

/// The fates of all mutants.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Score {
    /// The versions of `snuffer` and candle.
    pub versions: String,
    /// Whether host code was changed, instead of kernels.
    pub host: bool,
    /// The devices.
    #[schemars(with = "Vec<String>")]
    pub devices: Vec<Device>,
    /// The seed of the cases and of the choice of mutants.
    pub seed: u64,
    /// How many ops the cases are of.
    pub ops: usize,
    /// How many cases were drawn and run without a change.
    pub drawn: usize,
    /// On how many cases a mutant was run at most.
    pub cases: usize,
    /// How many kernels these cases launched, or how many functions of the host code can be changed.
    pub changeable: usize,
    /// How many changes of these are possible.
    pub changes: usize,
    /// How many of these changes are known to make no difference. They are never chosen.
    pub equivalent: usize,
    /// How many of the others only a thread with several elements executes. candle launches a thread for each element, no case
    /// executed them, and they are never chosen.
    pub further_rounds: usize,
    /// How many mutants were chosen.
    pub chosen: usize,
    /// The mutants that were run: fewer than chosen if the run was interrupted.
    pub mutants: Vec<Mutant>,
}

/// One change.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Mutant {
    /// The kernel and the number of the change: `SNUFFER_SIM_MUTATE` takes this name. Or the function, and the number for
    /// `SNUFFER_HOST_MUTANT`.
    pub name: String,
    /// The change in words.
    pub change: String,
    /// The file and line of what is changed.
    pub place: String,
    /// The code before and after, if it is source code.
    pub code: Option<String>,
    /// On how many cases it was run.
    pub cases: usize,
    /// How long these took, with the start of the workers.
    pub seconds: f64,
    /// Its fate.
    pub fate: Fate,
}

/// The fate of a mutant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// The last of its cases failed in a way in which it does not fail without the change.
    Noticed(Noticed),
    /// No worker starts with it: any run would end with that message, before its first case.
    NotStarted,
    /// No case failed in such a way.
    Survived(Difference),
}

/// How a mutant was noticed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Noticed {
    /// The oracle that noticed it.
    pub oracle: OracleName,
    /// The kind of violation; for a fault, which one.
    #[schemars(with = "String")]
    pub kind: Kind,
    /// The op of the case.
    pub op: String,
}

/// The effect of a surviving mutant on its cases, from the smallest to the largest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Difference {
    /// No case executed the changed code.
    NotReached,
    /// It was executed, and never changed a value or a lane's way.
    NoEffect,
    /// It sent threads another way, and no bit of a result differed: its function only chooses between ways to the same result.
    AnotherWay,
    /// It had an effect, but only in cases that fail in the same way without the change.
    FailsAnyway,
    /// It had an effect, and no bit of a result differed, except in cases that fail without the change.
    NoneSeen,
    /// Something unspecified differed.
    NotPromised,
    /// Something differed within the contract.
    Allowed,
}

impl Difference {
    /// The difference in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::NotReached => "not reached",
            Self::NoEffect => "no effect",
            Self::AnotherWay => "another way to the same result",
            Self::FailsAnyway => "its cases fail anyway",
            Self::NoneSeen => "no difference seen",
            Self::NotPromised => "differs where the result is not specified",
            Self::Allowed => "differs within the allowed error",
        }
    }
}

/// Returns each number below `count` once, until `stop` is set.
fn numbers(count: usize, stop: &AtomicBool) -> impl Fn() -> Option<u64> + Sync {
    let next = AtomicU64::new(0);
    move || {
        let number = next.fetch_add(1, Ordering::Relaxed);
        (!stop.load(Ordering::Relaxed) && number < count as u64).then_some(number)
    }
}
