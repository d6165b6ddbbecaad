//! The events of a hunt for machines, each printed as one JSON line.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::oracle::Rank;
use crate::report::Found;

/// A line of `snuffer hunt --json` and `snuffer import --json`; `event` is its kind.
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
        /// Its devices, such as `cpu, sim:0`.
        devices: String,
    },
    /// All planted faults were noticed.
    Canary {
        /// How many there were.
        faults: usize,
        /// How many were not noticed: always 0; otherwise the campaign ends with `finished`.
        missed: usize,
        /// Whether candle is built with debug assertions and overflow checks.
        checked: bool,
    },
    /// A new finding is stored.
    Found {
        /// Its signature, which is the name of its folder.
        signature: String,
        /// How bad it is.
        rank: Rank,
        /// What was expected and what happened.
        detail: String,
        /// How often it was run again.
        tries: u32,
        /// How often it failed then.
        failed: u32,
    },
    /// A finding of the store occurred for the first time in this campaign.
    Known {
        /// Its signature.
        signature: String,
    },
    /// A failure was not reproduced in a new process.
    Flaky {
        /// Its signature.
        signature: String,
    },
    /// A device was lost. The campaign goes on with the others, or ends.
    Lost {
        /// The device.
        device: String,
        /// The op of the last case on it; empty if it was lost before any.
        op: String,
        /// The file with that case.
        case: String,
        /// What happened.
        why: String,
        /// The other devices, such as `cpu, cuda:1`. If there are none, the campaign ends.
        left: String,
    },
    /// The set-up that went on beside the hunt has ended.
    Joined {
        /// The devices that it brought, such as `sim:0`; empty if it brought none.
        devices: String,
    },
    /// Twice a second.
    Progress {
        /// How many cases were run, including those before `--resume`.
        cases: u64,
        /// How many of them failed.
        failed: u64,
        /// How many findings are new.
        new: usize,
        /// Seconds of work.
        seconds: f64,
    },
    /// The campaign ended.
    Finished {
        /// How many cases were run.
        cases: u64,
        /// How many kept their contract.
        passed: u64,
        /// How many keep what holds on any input, and have no other contract.
        partly: u64,
        /// How many were not judged.
        skipped: u64,
        /// How many broke their contract.
        failed: u64,
        /// Seconds of work.
        seconds: f64,
        /// How many signatures the failures have.
        signatures: usize,
        /// How many findings are new.
        new: usize,
        /// Canary faults that were not noticed. If there are any, the campaign is invalid.
        missed: Vec<String>,
        /// The index at which `--resume` continues.
        next: u64,
        /// Cases that made snuffer itself panic.
        broken: u64,
        /// Planted faults: how many were charged to the right case, of how many.
        canaries: BTreeMap<String, (u64, u64)>,
        /// The devices that were lost and taken out.
        lost: Vec<String>,
        /// The new findings, by rank and by likely cause.
        found: Found,
    },
}
