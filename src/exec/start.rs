//! Starts a worker process and waits for its first word.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use tempfile::TempDir;

use super::protocol::{self, Hello};
use super::{Build, Limits, Variable, environment};
use crate::case::Case;
use crate::device::Device;

/// How long a new worker has for its first word.
const START: Duration = Duration::from_secs(60);

/// The file, in a worker's folder, in which a simulated device records its reports.
pub const REPORTS: &str = "reports";

/// A device that no new worker gets hold of: it is not there, or not any more.
#[derive(Debug, thiserror::Error)]
#[error("the worker for {device} does not start: {said}")]
pub struct DeviceLost {
    /// The device.
    pub device: Device,
    /// The worker's last line.
    said: String,
    /// What ran on the device last, where that is known.
    pub case: Option<Case>,
}

/// A worker process that has its device open.
#[derive(Debug)]
pub struct Started {
    pub child: Child,
    pub socket: UnixStream,
    pub hello: Hello,
}

impl Started {
    /// Starts one for `device`, with its files in `folder`.
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
        environment::behave(&mut command, device, limits);
        command.envs(variables.iter().map(|(name, value)| (name, value)));
        command.env("SNUFFER_SIM_COVERAGE", folder.path().join("coverage"));
        command.env(environment::REPORTS, folder.path().join(REPORTS));
        command.arg(device.to_string()).arg(folder.path().join("journal")).arg(limits.memory_mib.to_string());
        command.stdin(Stdio::from(OwnedFd::from(theirs))).stdout(output.try_clone()?).stderr(output.try_clone()?);
        // An interrupt at the terminal is the parent's to answer; a worker ends with it.
        command.process_group(0);
        let mut child = command.spawn().with_context(|| format!("cannot start {}", command.get_program().display()))?;
        // The command holds the worker's end of the socket: with it open, a dead worker would never read as one.
        drop(command);
        let hello = {
            let mut stream = Deadlined { socket: &mut ours, until: Instant::now() + START };
            protocol::read_frame(&mut stream).and_then(|body| protocol::decode::<Hello>(&body))
        };
        let Ok(hello) = hello else {
            let _ = child.kill();
            child.wait()?;
            let said = std::fs::read_to_string(folder.path().join("output")).unwrap_or_default();
            let said = said.lines().last().unwrap_or("it said nothing").to_string();
            return Err(DeviceLost { device, said, case: None }.into());
        };
        if hello.build != protocol::build_identity() {
            let _ = child.kill();
            child.wait()?;
            let how = if build == Build::Checked { "cargo build" } else { "cargo build --release" };
            bail!("the worker for {device} was built from other sources; run `{how}`");
        }
        Ok(Self { child, socket: ours, hello })
    }
}

/// A socket whose reads together have a deadline.
pub struct Deadlined<'a> {
    pub socket: &'a mut UnixStream,
    pub until: Instant,
}

impl Read for Deadlined<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.until.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        self.socket.set_read_timeout(Some(left))?;
        self.socket.read(buffer)
    }
}
