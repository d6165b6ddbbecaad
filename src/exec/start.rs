//! Starts a worker process and waits for its first message, and ends one that is in the way.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::Context;
use wait_timeout::ChildExt;

use super::deadline::{Timed, Timer};
use super::folder::Folder;
use super::protocol::{self, Hello};
use super::sanitizer::Sanitizer;
use super::unusable_device::{UnusableDevice, lacks};
use super::{Build, Missing, WorkerSpec, environment, kernel_warm_up, own_worker};
use crate::case::Case;
use crate::device::Device;
use crate::outcome::signal_name;

/// The file, in a worker's folder, in which a simulated device records its reports.
pub const REPORTS: &str = "reports";

/// The file, in a worker's folder, in which a simulated device says how long it worked.
const DEVICE_TIME: &str = "device-time";

/// A device that no new worker can open: it is missing, it went away, or it is wedged.
#[derive(Debug, thiserror::Error)]
#[error("{problem}")]
pub struct DeviceLost {
    /// The device.
    pub device: Device,
    /// What happened, in a line.
    problem: String,
    /// What this machine lacks, if the worker says so.
    lacks: Option<String>,
    /// Whether the device answers no process any more. Another try would only take time.
    pub(super) is_wedged: bool,
    /// The last case on the device, if it is known.
    pub case: Option<Case>,
    /// What that case did, in a line.
    pub outcome: Option<String>,
}

impl DeviceLost {
    /// The error of a first worker, which may be told from that of a device that went away.
    pub fn at_first(error: anyhow::Error) -> anyhow::Error {
        match error.downcast_ref::<Self>() {
            Some(Self { device, lacks: Some(lacks), .. }) => UnusableDevice::new(*device, lacks.clone()).into(),
            _ => error,
        }
    }

    fn new(device: Device, problem: String) -> Self {
        Self { device, problem, lacks: None, is_wedged: false, case: None, outcome: None }
    }

    /// A worker that ended with this status before its first message, and printed this.
    fn ended(device: Device, status: ExitStatus, printed: &str) -> Self {
        let lacks = lacks(device, printed);
        let last_line = || match (printed.lines().last(), status.signal()) {
            (Some(line), _) => line.to_string(),
            (None, Some(signal)) => format!("{} killed it; `dmesg` says whether memory ran out", signal_name(signal)),
            (None, None) => "it printed nothing".to_string(),
        };
        let why = lacks.clone().unwrap_or_else(last_line);
        Self { lacks, ..Self::new(device, format!("the worker for {device} does not start: {why}")) }
    }

    /// A device on which a new process gets no kernel to its end.
    fn wedged(device: Device, patience: Duration) -> Self {
        let seconds = patience.as_secs_f64();
        let what = if device.is_gpu() { "runs no kernel on it" } else { "does not answer" };
        let problem = format!("{device} is wedged: a new process {what} within {seconds} s (`dmesg` may say why)");
        Self { is_wedged: true, ..Self::new(device, problem) }
    }

    /// A device that keeps a process which was killed.
    fn unkillable(device: Device, child: &Child) -> Self {
        let problem = format!("{device} is wedged: process {} was killed but does not exit", child.id());
        Self { is_wedged: true, ..Self::new(device, problem) }
    }
}

/// A worker process that has its device open.
#[derive(Debug)]
pub struct Started {
    pub child: Child,
    pub socket: UnixStream,
    pub hello: Hello,
    /// The file in which a simulated device says how long it worked.
    pub device_time: PathBuf,
}

impl Started {
    /// Starts a worker for `device`, with its files in `folder`. If it `compiles`, it loads all of candle's kernels first.
    pub fn new(
        device: Device,
        spec: &WorkerSpec,
        folder: &Folder,
        output: &File,
        compiles: bool,
    ) -> anyhow::Result<Self> {
        let (mut ours, theirs) = UnixStream::pair().context("cannot make a socket")?;
        let journal = folder.path().join("journal");
        let mut command = match &spec.own {
            Some(own) => own_worker::command(own, device, &journal, spec.limits.memory_mib),
            None => {
                let mut command = environment::command_of(device, spec.build, spec.candle.as_deref())?;
                command.arg(device.to_string()).arg(journal).arg(spec.limits.memory_mib.to_string());
                command
            }
        };
        let tool = Sanitizer::of(device, spec.behaviour.sanitizer);
        if let Some(tool) = tool {
            command = tool.start(&command)?;
        }
        let slowdown = tool.map_or(1, |_| Sanitizer::SLOWDOWN);
        environment::set_behaviour(&mut command, device, spec);
        command.env_remove(kernel_warm_up::COMPILE).envs(compiles.then_some((kernel_warm_up::COMPILE, "1")));
        command.env("SNUFFER_SIM_COVERAGE", folder.path().join("coverage"));
        command.env(environment::REPORTS, folder.path().join(REPORTS));
        let device_time = folder.path().join(DEVICE_TIME);
        command.env(environment::DEVICE_TIME, &device_time);
        if device_time.exists() {
            std::fs::remove_file(&device_time).context("cannot remove a file")?;
        }
        command.stdin(Stdio::from(OwnedFd::from(theirs))).stdout(output.try_clone()?).stderr(output.try_clone()?);
        // The parent handles an interrupt at the terminal; its workers end when it ends.
        command.process_group(0);
        // What the worker before it printed says nothing about this one.
        output.set_len(0).context("cannot empty the worker's output")?;
        let mut child = command.spawn().with_context(|| format!("cannot start {}", command.get_program().display()))?;
        // The command owns the worker's end of the socket. While that is open, we would not notice that a worker died.
        drop(command);
        let mut hello_within = |patience| {
            let timer = Timer::of(device, child.id(), device_time.clone(), patience);
            let mut stream = Timed { socket: &mut ours, timer };
            protocol::read_frame(&mut stream).and_then(|body| protocol::decode::<Hello>(&body))
        };
        let hello = hello_within(spec.limits.opening * slowdown);
        let hello = if compiles { hello.and_then(|_| hello_within(kernel_warm_up::PATIENCE)) } else { hello };
        let identity = protocol::build_identity(spec.candle.as_deref());
        match hello {
            Ok(hello) if hello.build == identity && has_checks(&hello, spec.build) => {
                Ok(Self { child, socket: ours, hello, device_time })
            }
            Ok(hello) => {
                kill(device, &mut child)?;
                let build = environment::build_command(device, spec.build);
                let other = if hello.build == identity { "with other checks" } else { "from other sources" };
                Err(Missing(format!("the worker for {device} was built {other}; run `{build}`")).into())
            }
            Err(error) if is_late(&error) => {
                kill(device, &mut child)?;
                Err(DeviceLost::wedged(device, spec.limits.opening).into())
            }
            Err(_) => {
                let status = kill(device, &mut child)?;
                let printed = std::fs::read_to_string(folder.path().join("output")).unwrap_or_default();
                Err(DeviceLost::ended(device, status, &printed).into())
            }
        }
    }
}

/// Whether a worker has the overflow checks of its build, or lacks them. A program without any, as in a benchmark, takes all workers.
fn has_checks(hello: &Hello, build: Build) -> bool {
    hello.checked == (build != Build::Unchecked) || !cfg!(debug_assertions)
}

/// Whether a worker did not answer in time.
pub fn is_late(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut)
}

/// Kills a worker and waits for its end, which it may have reached already. The system keeps a process whose driver waits for
/// a GPU that does not answer (state D): after a while that is a [`DeviceLost`].
pub fn kill(device: Device, child: &mut Child) -> anyhow::Result<ExitStatus> {
    const PATIENCE: Duration = Duration::from_secs(10);
    let _ = child.kill();
    let ended = child.wait_timeout(PATIENCE).context("cannot wait for the worker")?;
    ended.ok_or_else(|| DeviceLost::unkillable(device, child).into())
}
