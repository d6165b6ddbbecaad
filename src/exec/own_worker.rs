//! A program as its own worker: it starts itself, and where it would check an op, it serves cases of it.

use std::path::Path;
use std::process::{Command, ExitCode};

use super::{OwnWorker, environment, worker};
use crate::device::Device;

/// The variable that makes a process serve: the name of the op, the device, the journal and the limit of memory, a line each.
const SERVES: &str = "SNUFFER_SERVES";

/// The command that starts this program as a worker of `device`.
pub fn command(own: &OwnWorker, device: Device, journal: &Path, memory_mib: u64) -> Command {
    let mut command = Command::new(&own.program);
    environment::set_candle(&mut command);
    let served = format!("{}\n{device}\n{}\n{memory_mib}", own.op, journal.display());
    command.args(&own.args).env(SERVES, served);
    command
}

/// Serves cases and never returns if this process is a worker for `op`. Returns true if it is a worker for a different op.
pub fn serve_if_asked(op: &str) -> bool {
    let Ok(served) = std::env::var(SERVES) else { return false };
    let parts: Vec<&str> = served.split('\n').collect();
    let [of, device, journal, memory] = parts[..] else { return true };
    if of != op {
        return true;
    }
    let args = [device, journal, memory].map(ToString::to_string);
    let ended = worker::run(move || worker::serve_with(&args));
    std::process::exit(i32::from(ended != ExitCode::SUCCESS));
}
