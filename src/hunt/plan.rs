//! The campaign's plan, and which case comes when.

use std::str::FromStr;
use std::time::Duration;

use crate::case::Case;
use crate::device::Device;
use crate::exec::Limits;
use crate::generate::{Drawn, Mode, sample};
use crate::ops::{self, Op};
use crate::settle::Settings;

/// The campaign's plan.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The ops, in turn.
    pub ops: Vec<&'static Op>,
    /// The modes, in turn.
    pub modes: Vec<Mode>,
    /// Cases to run instead of drawn ones.
    pub given: Vec<Case>,
    /// The devices, all for every case.
    pub devices: Vec<Device>,
    /// Decides every case.
    pub seed: u64,
    /// The first case's index.
    pub first: u64,
    /// Which of the cases are this campaign's.
    pub shard: Shard,
    /// How many cases at most, those of other shards included.
    pub cases: Option<u64>,
    /// How long at most; minimization that has begun is finished.
    pub time: Option<Duration>,
    /// Workers per device.
    pub jobs: usize,
    /// What a case may use up.
    pub limits: Limits,
    /// How many canary faults of each kind are planted among the cases.
    pub inject: u64,
    /// How findings are settled.
    pub settings: Settings,
}

impl Plan {
    /// The `index`-th case.
    pub(super) fn sample(&self, index: u64) -> Sample {
        let Some(case) = self.given.get(index as usize) else {
            return Sample::nth(&self.ops, &self.modes, self.seed, index);
        };
        let op = ops::find(&case.op).expect("given cases are of ops");
        let drawn = Drawn { case: case.clone(), violations: Vec::new() };
        Sample { op, number: index, mode: Mode::Valid, drawn }
    }

    /// Whether there is a case at `index`.
    pub(super) fn reaches(&self, index: u64) -> bool {
        let given = if self.given.is_empty() { u64::MAX } else { self.given.len() as u64 };
        index < given && self.cases.is_none_or(|cases| index < self.first.saturating_add(cases))
    }
}

/// A case and where it came from.
#[derive(Debug)]
pub struct Sample {
    /// The op.
    pub op: &'static Op,
    /// Which of the op's cases it is: case N of an op and a seed stays that case when other ops are added.
    pub number: u64,
    /// The mode.
    pub mode: Mode,
    /// The case and its labelled violations.
    pub drawn: Drawn,
}

impl Sample {
    /// The `index`-th case of a campaign with this `seed`.
    pub fn nth(ops: &[&'static Op], modes: &[Mode], seed: u64, index: u64) -> Self {
        let (turns, number) = (ops.len() as u64, index / ops.len() as u64);
        let (op, mode) = (ops[(index % turns) as usize], modes[(number % modes.len() as u64) as usize]);
        Self { op, number, mode, drawn: sample(op.name, op.generate, mode, seed, number) }
    }
}

/// One of several campaigns that have the cases of one seed together: every `of`-th, from the `number`-th on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// From 1 on.
    pub number: u64,
    /// How many there are.
    pub of: u64,
}

impl Shard {
    /// All cases.
    pub const WHOLE: Self = Self { number: 1, of: 1 };

    /// The first index of this shard from `index` on.
    pub(super) fn from(self, index: u64) -> u64 {
        let behind = (index + self.of - (self.number - 1)) % self.of;
        if behind == 0 { index } else { index + self.of - behind }
    }
}

impl FromStr for Shard {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no shard; write `2/3` for the second of three");
        let (number, of) = text.split_once('/').ok_or_else(wrong)?;
        let shard = Self { number: number.parse().map_err(|_| wrong())?, of: of.parse().map_err(|_| wrong())? };
        if (1..=shard.of).contains(&shard.number) { Ok(shard) } else { Err(wrong()) }
    }
}

impl std::fmt::Display for Shard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

#[cfg(test)]
mod tests {
    use super::Shard;

    #[test]
    fn shards_share_every_index_once() {
        for of in 1..5 {
            for index in 0..20 {
                let owners = (1..=of).filter(|&number| Shard { number, of }.from(index) == index).count();
                assert_eq!(owners, 1, "{index} of {of}");
            }
            assert!((1..=of).all(|number| Shard { number, of }.from(7) < 7 + of));
        }
    }
}
