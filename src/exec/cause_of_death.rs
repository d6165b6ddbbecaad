//! Why a worker process died.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use rustix::process::Signal;

use crate::outcome::{Death, Outcome, Phase};

/// True if the process was ended by a signal that no code of a case can cause by mistake. SIGKILL comes from the machine, which has no memory
/// left, or from a person; SIGXFSZ from a limit of the user's, below what a worker writes.
pub fn is_killed(outcome: &Outcome) -> bool {
    let signals = [Signal::KILL, Signal::XFSZ].map(Signal::as_raw);
    matches!(outcome, Outcome::Died(Death { signal, .. }) if signals.contains(signal))
}

/// The outcome of a case whose process ended with `status` and printed `output`. Rust's runtime announces a stack overflow
/// and a failed allocation on standard error before it aborts (`std/src/sys/pal/unix/stack_overflow.rs`,
/// `alloc/src/alloc.rs`). Nothing else tells these apart from any other abort.
pub fn cause_of_death(status: ExitStatus, phase: Phase, output: &str) -> Outcome {
    if output.contains("has overflowed its stack") {
        return Outcome::StackOverflow(phase);
    }
    if output.contains("memory allocation of ") {
        return Outcome::OutOfMemory(phase);
    }
    Outcome::Died(Death { phase, signal: status.signal().unwrap_or(0), stderr: output.to_string() })
}
