//! The worker's side: reads cases from the socket on standard input, journals each, runs it, answers.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use rustix::process::{Resource, Rlimit, Signal, set_parent_process_death_signal, setrlimit};

use super::journal::Journal;
use super::protocol::{self, Hello, Reply, Request};
use crate::device::Device;
use crate::outcome::Outcome;
use crate::run;

/// The whole program of each worker: runs cases for `snuffer`, one at a time, in a process that may die.
pub fn main() -> ExitCode {
    match started_by_snuffer() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("snuffer-worker: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Serves with the arguments that `Started::new` gives.
fn started_by_snuffer() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [device, journal, memory] = args.as_slice() else {
        anyhow::bail!("only `snuffer` starts this: snuffer-worker DEVICE JOURNAL MEMORY_MIB");
    };
    let device = device.parse().map_err(anyhow::Error::msg)?;
    serve(device, journal.as_ref(), memory.parse().context("MEMORY_MIB is not a number")?)
}

/// Serves cases until the parent closes the socket.
fn serve(device: Device, journal: &Path, memory_mib: u64) -> anyhow::Result<()> {
    // A parent that is killed must not leave a hanging case behind.
    set_parent_process_death_signal(Some(Signal::KILL)).context("cannot ask to die with the parent")?;
    // No limit with a real driver: it reserves address space for all of the GPU's memory, and more.
    if !matches!(device, Device::Cuda(_)) {
        let bytes = Some(memory_mib.saturating_mul(1 << 20));
        setrlimit(Resource::As, Rlimit { current: bytes, maximum: bytes }).context("cannot limit the memory")?;
    }
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) }).context("cannot switch core dumps off")?;
    // Standard output and error are files and take what a case prints: the protocol has its own socket.
    let mut socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let journal = Journal::create(journal).context("cannot create the journal")?;
    let opened = run::open(device).with_context(|| format!("cannot open the device {device}"))?;
    run::install_panic_hook();
    let checked = cfg!(debug_assertions);
    let hardware = run::hardware(device, &opened).context("cannot query the device")?;
    protocol::send(&mut socket, &Hello { build: protocol::build_identity(), device, checked, hardware })?;
    loop {
        let body = match protocol::read_frame(&mut socket) {
            Ok(body) => body,
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            Err(error) => return Err(error).context("cannot read a case"),
        };
        let Request { number, case } = protocol::decode(&body).context("cannot read a case")?;
        journal.begin(&body).context("cannot write the journal")?;
        let mut failed = Ok(());
        let mut run = || {
            run::run(&case, &opened, |phase| {
                if let Err(error) = journal.enter(phase) {
                    failed = Err(error);
                }
            })
        };
        let outcome = run();
        // After a fault, every call on the device returns that fault.
        let lost = matches!(outcome, Outcome::Faulted(_));
        let again = if lost { None } else { Some(run()).filter(|again| *again != outcome) };
        failed.context("cannot write the journal")?;
        protocol::send(&mut socket, &Reply { number, outcome, again }).context("cannot answer")?;
        if lost {
            // Exit at once: candle's destructors would call the dead device again.
            std::process::exit(0);
        }
    }
}
