//! The campaign's plan, and the order of its cases.

use std::str::FromStr;
use std::time::Duration;

use crate::case::Case;
use crate::device::Device;
use crate::exec::WorkerSpec;
use crate::generate::{Drawn, Mode, sample};
use crate::ops::{self, Contract, Op, own, why};
use crate::settle::Settings;

/// The campaign's plan.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The ops, in turn.
    pub ops: Vec<&'static Op>,
    /// The modes, in turn.
    pub modes: Vec<Mode>,
    /// Cases to run instead of drawn ones.
    pub cases_to_run: Vec<Case>,
    /// The devices. Every case runs on all of them, unless they are spread.
    pub devices: Vec<Device>,
    /// Whether a case runs on one of the GPUs instead of on all. They are the same kind of device, and so it takes less time.
    pub spread: bool,
    /// Decides every case.
    pub seed: u64,
    /// The first case's index.
    pub first: u64,
    /// Which part of the cases this campaign runs.
    pub shard: Shard,
    /// At most this many cases, including those of other shards and those before the first.
    pub cases: Option<u64>,
    /// At most this long. A minimization in progress is finished first.
    pub time: Option<Duration>,
    /// Workers per device.
    pub jobs: usize,
    /// The workers.
    pub spec: WorkerSpec,
    /// How many canary faults of each kind to plant among the cases.
    pub inject: u64,
    /// How findings are settled.
    pub settings: Settings,
}

impl Plan {
    /// The `index`-th case.
    pub(super) fn sample(&self, index: u64) -> Sample {
        let Some(case) = self.cases_to_run.get(index as usize) else {
            return Sample::nth(&self.ops, &self.modes, self.seed, index);
        };
        let op = ops::find(&case.op).expect("the op of each case to run was looked up");
        let drawn = Drawn { case: case.clone(), violations: Vec::new() };
        Sample { op, number: index, mode: Mode::Valid, drawn }
    }

    /// Whether there is a case at `index`.
    pub(super) fn has_case(&self, index: u64) -> bool {
        let end = if self.cases_to_run.is_empty() { u64::MAX } else { self.cases_to_run.len() as u64 };
        index < end && self.cases.is_none_or(|cases| index < cases)
    }
}

/// A case and its provenance.
#[derive(Debug)]
pub struct Sample {
    /// The op.
    pub op: &'static Op,
    /// The case's number within its op. Case N of an op and a seed stays the same case when other ops are added.
    pub number: u64,
    /// The mode.
    pub mode: Mode,
    /// The case, and the violations that were drawn into it.
    pub drawn: Drawn,
}

impl Sample {
    /// The `index`-th case of a campaign with this `seed`.
    pub fn nth(ops: &[&'static Op], modes: &[Mode], seed: u64, index: u64) -> Self {
        let (turns, number) = (ops.len() as u64, index / ops.len() as u64);
        let (op, mode) = (ops[(index % turns) as usize], modes[(number % modes.len() as u64) as usize]);
        let mut drawn = sample(op.name, op.generate, mode, seed, number);
        op.clamp(&mut drawn.case);
        let says_nothing = match op.contract(&drawn.case) {
            Contract::Accepts { .. } => false,
            contract => op.is_relation() || contract == Contract::Unspecified(why::NO_CALL),
        };
        if says_nothing || !own::has_a_caller(&drawn.case) {
            drawn = sample(op.name, op.generate, Mode::Valid, seed, number);
        }
        Self { op, number, mode, drawn }
    }
}

/// One of several campaigns that divide the cases of one seed among them: every `count`-th case, starting at the `number`-th.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// This shard's number, from 1.
    pub number: u64,
    /// How many shards there are.
    pub count: u64,
}

impl Shard {
    /// All cases.
    pub const WHOLE: Self = Self { number: 1, count: 1 };

    /// The first index of this shard that is not below `index`; the largest number, which no case has, if there is none.
    pub fn first_index(self, index: u64) -> u64 {
        let (turn, own) = (index % self.count, self.number - 1);
        let wait = if turn <= own { own - turn } else { self.count - (turn - own) };
        index.saturating_add(wait)
    }
}

impl FromStr for Shard {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let invalid = || format!("`{text}` is not a shard; write `2/3` for the second of three");
        let (number, count) = text.split_once('/').ok_or_else(invalid)?;
        let shard =
            Self { number: number.parse().map_err(|_| invalid())?, count: count.parse().map_err(|_| invalid())? };
        if (1..=shard.count).contains(&shard.number) { Ok(shard) } else { Err(invalid()) }
    }
}

impl std::fmt::Display for Shard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.number, self.count)
    }
}
