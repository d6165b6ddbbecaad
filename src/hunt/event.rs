//! What a hunt reports while it runs.

use std::path::Path;

use crate::case::Case;
use crate::device::Device;
use crate::oracle::Signature;
use crate::store::{Finding, Record};

/// Progress of a running campaign.
#[derive(Debug)]
pub enum Event<'a> {
    /// Every canary fault was noticed on every device.
    CanaryPassed {
        /// How many faults were planted.
        faults: usize,
        /// Whether the workers have debug assertions and overflow checks.
        checked: bool,
    },
    /// A new finding is stored under this name.
    Found(&'a str, &'a Finding),
    /// This campaign saw a finding of the store, with this name, for the first time.
    Known(&'a str, &'a Signature),
    /// A failure did not happen again in a new process.
    Flaky(&'a Signature),
    /// A device is lost.
    Lost {
        /// Which.
        device: Device,
        /// What happened, in a line.
        why: &'a str,
        /// The last case on it, which was saved in this file.
        case: Option<(&'a Case, &'a Path)>,
        /// The devices with which the hunt goes on. Without any, it ends.
        left: &'a [Device],
    },
    /// These devices were set up meanwhile, and cases run on them, too, from now on. Empty if the set-up brought none.
    Joined(&'a [Device]),
    /// Sent periodically: the record so far, and how many findings are new.
    Progress(&'a Record, usize),
}
