//! The worker's side: reads cases from the socket on standard input, journals each, runs it, answers.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use rustix::process::{Resource, Rlimit, Signal, getrlimit, set_parent_process_death_signal, setrlimit};

use super::journal::Journal;
use super::protocol::{self, Again, Hello, Reply, Request, Run};
use super::{environment, fence, on_own_stack};
use crate::device::{Device, Gpu};
use crate::ops;
use crate::outcome::Outcome;
use crate::run;

/// The argument with which a worker only names its ops.
pub const NAME_OPS: &str = "name-ops";

/// The whole program of each worker: runs cases for `snuffer`, one at a time, in a process that may die.
pub fn main() -> ExitCode {
    run(started_by_snuffer)
}

/// Serves cases on a stack of a known size.
pub fn run(serve: impl FnOnce() -> anyhow::Result<()> + Send + 'static) -> ExitCode {
    match on_own_stack("cases", serve).context("cannot start a thread").and_then(|ended| ended) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("snuffer-worker: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Serves with the arguments that `Started::new` gives, or counts the GPUs.
fn started_by_snuffer() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    #[cfg(feature = "cuda")]
    if args == [super::gpu_count::COUNT] {
        println!("{}", run::gpu::visible().context("cannot count the GPUs")?);
        return Ok(());
    }
    if args == [NAME_OPS] {
        let names: Vec<&str> = ops::ALL.iter().map(|op| op.name).collect();
        println!("{}", names.join("\n"));
        return Ok(());
    }
    serve_with(&args)
}

/// Serves with the arguments of a worker.
pub fn serve_with(args: &[String]) -> anyhow::Result<()> {
    let [device, journal, memory] = args else {
        anyhow::bail!("only `snuffer` starts this: snuffer-worker DEVICE JOURNAL MEMORY_MIB");
    };
    let device = device.parse().map_err(anyhow::Error::msg)?;
    serve(device, journal.as_ref(), memory.parse().context("MEMORY_MIB is not a number")?)
}

/// Serves cases until the parent closes the socket.
fn serve(device: Device, journal: &Path, memory_mib: u64) -> anyhow::Result<()> {
    // A parent that is killed must not leave a hanging case behind.
    set_parent_process_death_signal(Some(Signal::KILL)).context("cannot ask to die with the parent")?;
    let bytes = memory_mib.saturating_mul(1 << 20);
    if device == Device::Cpu
        && let Some(records) = std::env::var_os(environment::REPORTS)
    {
        fence::prepare(records.as_ref())?;
    }
    if !device.is_gpu() {
        limit(Resource::As, bytes.saturating_add(fence::ADDRESSES as u64))?;
    }
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) }).context("cannot switch core dumps off")?;
    // Standard output and error are files and take what a case prints: the protocol has its own socket.
    let mut socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let journal = Journal::create(journal).context("cannot create the journal")?;
    let opened = run::open(device).with_context(|| format!("cannot open the device {device}"))?;
    let gpu = if device.is_gpu() { open_gpu(&opened, bytes)? } else { None };
    run::install_panic_hook();
    let checked = cfg!(debug_assertions);
    let hardware = run::hardware(device, &opened).context("cannot query the device")?;
    let hello = Hello { build: protocol::build_identity(None), device, checked, hardware, gpu };
    protocol::send(&mut socket, &hello)?;
    #[cfg(feature = "cuda")]
    if std::env::var_os(super::kernel_warm_up::COMPILE).is_some() {
        run::gpu::load_kernels(&opened).context("cannot load candle's kernels")?;
        protocol::send(&mut socket, &hello)?;
    }
    loop {
        let body = match protocol::read_frame(&mut socket) {
            Ok(body) => body,
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            Err(error) => return Err(error).context("cannot read a case"),
        };
        let Request { number, case, run: how } = protocol::decode(&body).context("cannot read a case")?;
        journal.begin(number).context("cannot write the journal")?;
        let mut failed = Ok(());
        let mut run = || {
            run::measured(&case, &opened, |phase| {
                if let Err(error) = journal.enter(phase) {
                    failed = Err(error);
                }
            })
        };
        let (outcome, _) = run();
        // After a fault, every call on the device returns that fault.
        let lost = matches!(outcome, Outcome::Faulted(_));
        let again = (how == Run::Twice && !lost).then(|| Again::of(run(), &outcome));
        let reply = Reply { number, outcome, again };
        protocol::send(&mut socket, &reply).context("cannot answer")?;
        if let Run::Fenced(side) = how {
            let again = Again::of(fence::around(side, run), &reply.outcome);
            protocol::send(&mut socket, &again).context("cannot answer")?;
        }
        failed.context("cannot write the journal")?;
        if lost {
            // Exit at once: candle's destructors would call the dead device again.
            std::process::exit(0);
        }
    }
}

/// Limits a resource of this process, for good. A lower limit of the user's stays.
fn limit(resource: Resource, bytes: u64) -> anyhow::Result<()> {
    let bytes = getrlimit(resource).maximum.map_or(bytes, |most| most.min(bytes));
    let bytes = Some(bytes);
    setrlimit(resource, Rlimit { current: bytes, maximum: bytes }).context("cannot limit the memory")
}

/// Runs a kernel on a GPU, and limits the memory of the cases that follow to this many bytes.
///
/// A real driver reserves addresses for the memory of all GPUs and more, terabytes, so addresses cannot be limited. Private
/// writable memory can: that is what `RLIMIT_DATA` counts since Linux 4.7 (`getrlimit(2)`; `is_data_mapping` in the kernel's
/// `mm/internal.h`), and neither reservations without access nor mappings of the driver's devices are that. What the driver
/// has taken when the first kernel has run is not the cases', so the limit counts from there. A watch of the resident memory
/// from outside would be late: a process that only reserves, or is fast, is gone or has filled the machine between two looks.
#[cfg(feature = "cuda")]
fn open_gpu(opened: &run::Opened, bytes: u64) -> anyhow::Result<Option<Gpu>> {
    run::gpu::probe(opened).context("cannot run a kernel")?;
    let gpu = run::gpu::state(opened).context("cannot query the device's memory")?;
    limit(Resource::Data, data()?.saturating_add(bytes))?;
    Ok(gpu)
}

/// This build has no GPUs.
#[cfg(not(feature = "cuda"))]
fn open_gpu(_: &run::Opened, _: u64) -> anyhow::Result<Option<Gpu>> {
    anyhow::bail!("this worker has only candle's CPU backend")
}

/// The private writable memory of this process, in bytes (`proc_pid_statm(5)`, the sixth field).
#[cfg(feature = "cuda")]
fn data() -> anyhow::Result<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm").context("cannot read /proc/self/statm")?;
    let pages = statm.split_whitespace().nth(5).and_then(|pages| pages.parse::<u64>().ok());
    Ok(pages.context("/proc/self/statm has no sixth field")? * rustix::param::page_size() as u64)
}
