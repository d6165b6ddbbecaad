//! What a hunt says to machines: one JSON line for each of these.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

/// A line of `snuffer hunt --json` and `snuffer import --json`; `event` says which.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The campaign begins.
    Started {
        /// Its seed.
        seed: u64,
        /// The index of its first case.
        first: u64,
        /// How many ops it hunts.
        ops: usize,
        /// On which devices, such as `cpu, sim:0`.
        devices: String,
    },
    /// The planted faults were all noticed.
    Canary {
        /// How many there were.
        faults: usize,
        /// How many were not noticed: none, or the campaign ends with `finished` instead.
        missed: usize,
        /// Whether candle is built with debug assertions and overflow checks.
        checked: bool,
    },
    /// A new finding is stored.
    Found {
        /// Its signature, which is the name of its folder.
        signature: String,
        /// What was expected and what came.
        detail: String,
        /// How often it was run again.
        tries: u32,
        /// How often it failed then.
        failed: u32,
    },
    /// A finding that the store has was met for the first time in this campaign.
    Known {
        /// Its signature.
        signature: String,
    },
    /// A failure could not be made to happen again in a new process.
    Flaky {
        /// Its signature.
        signature: String,
    },
    /// A device did not come back after a case; the campaign ends.
    Lost {
        /// The device.
        device: String,
        /// The op of the case.
        op: String,
        /// The file that has the case.
        case: String,
    },
    /// Twice a second.
    Progress {
        /// How many cases were run, those of earlier parts of the campaign included.
        cases: u64,
        /// How many of them failed.
        failed: u64,
        /// Seconds of work.
        seconds: f64,
    },
    /// The campaign ended.
    Finished {
        /// How many cases were run.
        cases: u64,
        /// In how many all promises were kept.
        passed: u64,
        /// Of how many nothing is promised.
        skipped: u64,
        /// In how many a promise broke.
        failed: u64,
        /// How many signatures they have.
        signatures: usize,
        /// How many findings are new.
        new: usize,
        /// Canary faults that nobody noticed: the campaign is invalid where there are any.
        missed: Vec<String>,
        /// The index from which `--resume` goes on.
        next: u64,
        /// Cases that made snuffer itself panic.
        broken: u64,
        /// Planted faults: how many were charged to the right case, of how many.
        canaries: BTreeMap<String, (u64, u64)>,
    },
}
