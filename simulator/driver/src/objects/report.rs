//! What the library says on the error stream: findings, and what it cannot do.

use simulator::Fault;
use std::io::{self, Write as _};

/// One write, so that lines of other threads do not come between. A closed error stream is no reason to fail.
pub fn print(text: &str) {
    let _ = io::stderr().write_all(format!("{text}\n").as_bytes());
}

/// The line by which the outcome of a run is recognized as the simulator's limit and not the program's fault.
pub fn unsupported(what: &str) {
    print(&format!("snuffer-sim: unsupported: {what}"));
}

/// Prints a fault as the driver and `compute-sanitizer` would.
pub fn fault(fault: &Fault) {
    print(&fault.to_string());
}
