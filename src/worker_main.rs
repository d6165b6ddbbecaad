//! `snuffer-worker`: runs cases for `snuffer`, one at a time, in a process that may die.

use std::process::ExitCode;

use anyhow::Context;
use snuffer::exec::worker;

pub(crate) fn main() -> ExitCode {
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("snuffer-worker: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn serve() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [device, journal, memory] = args.as_slice() else {
        anyhow::bail!("only `snuffer` starts this: snuffer-worker DEVICE JOURNAL MEMORY_MIB");
    };
    let device = device.parse().map_err(anyhow::Error::msg)?;
    worker::serve(device, journal.as_ref(), memory.parse().context("MEMORY_MIB is not a number")?)
}
