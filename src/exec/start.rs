//! Starts a worker process and waits for its first message.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Stdio};
use std::time::Duration;

use anyhow::{Context, bail};
use tempfile::TempDir;

use super::deadline::{Timed, Timer};
use super::protocol::{self, Hello};
use super::{Build, Limits, Variable, environment};
use crate::case::Case;
use crate::device::Device;

/// How long a new worker may take for its first message.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// The file, in a worker's folder, in which a simulated device records its reports.
pub const REPORTS: &str = "reports";

/// A device that no new worker can open: it is missing, or it went away.
#[derive(Debug, thiserror::Error)]
#[error("the worker for {device} does not start: {last_line}")]
pub struct DeviceLost {
    /// The device.
    pub device: Device,
    /// The worker's last line.
    last_line: String,
    /// What this machine lacks, if the worker says so.
    lacks: Option<&'static str>,
    /// The last case on the device, if it is known.
    pub case: Option<Case>,
}

/// A device that this machine lacks.
#[derive(Debug, thiserror::Error)]
#[error("{device} cannot be opened: {lacks}")]
pub struct DeviceMissing {
    device: Device,
    lacks: &'static str,
}

impl DeviceMissing {
    /// The error of a first worker, which may be told from that of a device that went away.
    pub fn at_first(error: anyhow::Error) -> anyhow::Error {
        match error.downcast_ref::<DeviceLost>() {
            Some(&DeviceLost { device, lacks: Some(lacks), .. }) => Self { device, lacks }.into(),
            _ => error,
        }
    }
}

/// What a worker prints if something is missing, and what that is.
const MISSING: [(&str, &str); 4] = [
    ("libcuda.so", NO_DRIVER),
    ("\"cuda\" shared library", NO_DRIVER),
    ("CUDA_ERROR_NO_DEVICE", "the CUDA driver finds no GPU; use `--device sim:0`"),
    ("CUDA_ERROR_INVALID_DEVICE", "there is no device with this number; `--device cuda:0` or `sim:0` is the first"),
];

const NO_DRIVER: &str =
    "this machine has no CUDA driver, libcuda.so.1; install the driver of your GPU, or use `--device sim:0`";

/// A worker process that has its device open.
#[derive(Debug)]
pub struct Started {
    pub child: Child,
    pub socket: UnixStream,
    pub hello: Hello,
}

impl Started {
    /// Starts a worker for `device`, with its files in `folder`.
    pub fn new(
        device: Device,
        build: Build,
        limits: Limits,
        variables: &[Variable],
        folder: &TempDir,
        output: &File,
    ) -> anyhow::Result<Self> {
        let (mut ours, theirs) = UnixStream::pair().context("cannot make a socket")?;
        let mut command = environment::command(device, build)?;
        environment::set_behaviour(&mut command, device, limits.behaviour);
        command.envs(variables.iter().map(|(name, value)| (name, value)));
        command.env("SNUFFER_SIM_COVERAGE", folder.path().join("coverage"));
        command.env(environment::REPORTS, folder.path().join(REPORTS));
        command.arg(device.to_string()).arg(folder.path().join("journal")).arg(limits.memory_mib.to_string());
        command.stdin(Stdio::from(OwnedFd::from(theirs))).stdout(output.try_clone()?).stderr(output.try_clone()?);
        // The parent handles an interrupt at the terminal; its workers end when it ends.
        command.process_group(0);
        let mut child = command.spawn().with_context(|| format!("cannot start {}", command.get_program().display()))?;
        // The command owns the worker's end of the socket. While that is open, we would not notice that a worker died.
        drop(command);
        let hello = {
            let mut stream = Timed { socket: &mut ours, timer: Timer::by_the_clock(START_TIMEOUT) };
            protocol::read_frame(&mut stream).and_then(|body| protocol::decode::<Hello>(&body))
        };
        let Ok(hello) = hello else {
            let _ = child.kill();
            child.wait()?;
            let printed = std::fs::read_to_string(folder.path().join("output")).unwrap_or_default();
            let lacks = MISSING.into_iter().find(|(text, _)| printed.contains(text)).map(|(_, lacks)| lacks);
            let last_line = printed.lines().last().unwrap_or("it printed nothing").to_string();
            return Err(DeviceLost { device, last_line, lacks, case: None }.into());
        };
        if hello.build != protocol::build_identity() {
            let _ = child.kill();
            child.wait()?;
            bail!(
                "the worker for {device} was built from other sources; run `{}`",
                environment::build_command(device, build)
            );
        }
        Ok(Self { child, socket: ours, hello })
    }
}
