//! The parent's side of a worker: its process, its deadline, and how to interpret its end.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::process::ExitStatus;
use std::time::Duration;

use anyhow::{Context, bail};
use tempfile::TempDir;
use wait_timeout::ChildExt;

use super::cause_of_death::cause_of_death;
use super::deadline::{Timed, Timer};
use super::diagnosis::Reports;
use super::journal::Journal;
use super::protocol::{self, Hello, Reply, Request};
use super::start::{DeviceLost, DeviceMissing, REPORTS, Started};
use super::{Build, Deadline, Limits, Variable, environment};
use crate::case::Case;
use crate::coverage::Coverage;
use crate::device::Device;
use crate::outcome::{DeviceReports, Gradients, Outcome, Returned};

/// A worker process for one device.
#[derive(Debug)]
pub struct Worker {
    device: Device,
    build: Build,
    limits: Limits,
    variables: Vec<Variable>,
    deadline: Duration,
    folder: TempDir,
    output: File,
    /// The reports of a simulated device, as records.
    records: File,
    process: Started,
    number: u64,
    coverage: Coverage,
}

impl Worker {
    /// Starts a worker and waits for its first message.
    pub fn start(device: Device, build: Build, limits: Limits) -> anyhow::Result<Self> {
        Self::start_with(device, build, limits, &[])
    }

    /// Starts a worker with environment variables, which its replacements get too.
    pub fn start_with(device: Device, build: Build, limits: Limits, variables: &[Variable]) -> anyhow::Result<Self> {
        let variables = variables.to_vec();
        let folder = tempfile::Builder::new().prefix("snuffer-worker-").tempdir().context("cannot make a folder")?;
        let file = |name: &str| {
            let path = folder.path().join(name);
            OpenOptions::new().create(true).append(true).read(true).open(path).context("cannot make a file")
        };
        let (output, records) = (file("output")?, file(REPORTS)?);
        let started = Started::new(device, build, limits, &variables, &folder, &output);
        let process = started.map_err(DeviceMissing::at_first)?;
        let coverage = Coverage::default();
        let deadline = limits.deadline;
        Ok(Self { device, build, limits, variables, deadline, folder, output, records, process, number: 0, coverage })
    }

    /// The device that this worker serves.
    pub fn device(&self) -> Device {
        self.device
    }

    /// The first message of the worker.
    pub fn hello(&self) -> &Hello {
        &self.process.hello
    }

    /// Sets the deadline of the following cases.
    pub fn set_deadline(&mut self, deadline: Deadline) {
        self.deadline = deadline.of(self.limits.deadline);
    }

    /// Ends the process and starts another. The error is a [`DeviceLost`] if the new one cannot open the device.
    pub fn restart(&mut self) -> anyhow::Result<()> {
        // A GPU that is resetting comes back within seconds.
        const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(4)];
        self.end()?;
        let start = || Started::new(self.device, self.build, self.limits, &self.variables, &self.folder, &self.output);
        let mut started = start();
        for pause in PAUSES {
            if started.as_ref().is_err_and(anyhow::Error::is::<DeviceLost>) {
                std::thread::sleep(pause);
                started = start();
            }
        }
        self.process = started?;
        Ok(())
    }

    /// Runs `case` twice. An `Err` is a failure of the harness, or a [`DeviceLost`] with this case.
    pub fn run(&mut self, case: &Case) -> anyhow::Result<Answer> {
        self.run_retrying(case).map_err(|mut error| {
            if let Some(lost) = error.downcast_mut::<DeviceLost>() {
                lost.case = Some(case.clone());
            }
            error
        })
    }

    /// Runs `case`, and tries again if the worker dies before it begins the case.
    fn run_retrying(&mut self, case: &Case) -> anyhow::Result<Answer> {
        // A worker may die before it begins the case (somebody kills it, the machine runs out of memory). The case is not
        // to blame.
        for _ in 0..3 {
            match self.attempt(case)? {
                None => {}
                // The index of the failing call counts from the start of the process: each case needs a new one.
                Some(answer) if environment::has_injected_failures(self.device, self.limits) => {
                    let outcome = excuse_injected(answer.outcome, &self.reports()?);
                    self.restart()?;
                    return Ok(outcome.into());
                }
                Some(answer) => return Ok(answer),
            }
        }
        bail!(
            "{} dies before it begins a case; the journal is in {}",
            self.process.hello.device,
            self.folder.path().display()
        )
    }

    /// One attempt; `None` if the worker died before it began the case.
    fn attempt(&mut self, case: &Case) -> anyhow::Result<Option<Answer>> {
        self.number += 1;
        let frame = protocol::encode(&Request { number: self.number, case: case.clone() })?;
        self.discard_output()?;
        let answer = io::Write::write_all(&mut self.process.socket, &frame).and_then(|()| self.answer());
        match answer {
            Ok(reply) if reply.number == self.number => match reply.outcome {
                Outcome::Faulted(fault) => {
                    let reports = self.reports()?;
                    self.restart()?;
                    let (outcome, device_reports) = (reports.explain(fault), reports.device_reports(true));
                    Ok(Some(Answer { outcome, again: None, device_reports }))
                }
                outcome => {
                    let device_reports = self.reports()?.device_reports(false);
                    Ok(Some(Answer { outcome, again: reply.again, device_reports }))
                }
            },
            Ok(reply) => bail!("the worker answered case {} when asked case {}", reply.number, self.number),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                Err(error).context("the worker sent an invalid answer")
            }
            Err(error) => {
                let late = matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut);
                let outcome = self.post_mortem(late)?;
                self.restart()?;
                Ok(outcome.map(Answer::from))
            }
        }
    }

    fn answer(&mut self) -> io::Result<Reply> {
        let timer = match self.device {
            // The processor only waits for a GPU.
            Device::Cuda(_) => Timer::by_the_clock(self.deadline),
            Device::Cpu | Device::Sim(_) => Timer::of_process(self.process.child.id(), self.deadline),
        };
        let mut stream = Timed { socket: &mut self.process.socket, timer };
        protocol::decode(&protocol::read_frame(&mut stream)?)
    }

    /// The outcome of the case, derived from how the process ended.
    fn post_mortem(&mut self, late: bool) -> anyhow::Result<Option<Outcome>> {
        let status = self.kill()?;
        let entry = Journal::read(&self.folder.path().join("journal")).context("cannot read the worker's journal")?;
        let Some(entry) = entry.filter(|entry| entry.number == self.number) else { return Ok(None) };
        let phase = entry.phase;
        if late {
            return Ok(Some(Outcome::TimedOut(phase)));
        }
        Ok(Some(cause_of_death(status, phase, &self.captured()?)))
    }

    /// Shuts the process down and returns what its simulated device executed, including in the processes before it.
    pub fn finish(mut self) -> anyhow::Result<Coverage> {
        self.end()?;
        Ok(std::mem::take(&mut self.coverage))
    }

    /// Shuts the process down. A simulated device writes its coverage first; a killed process loses it.
    fn end(&mut self) -> anyhow::Result<ExitStatus> {
        const PATIENCE: Duration = Duration::from_secs(10);
        if matches!(self.device, Device::Sim(_)) {
            let _ = self.process.socket.shutdown(std::net::Shutdown::Both);
            self.process.child.wait_timeout(PATIENCE)?;
            let path = self.folder.path().join("coverage");
            if let Ok(text) = std::fs::read_to_string(&path) {
                self.coverage.read(&text).map_err(anyhow::Error::msg)?;
                std::fs::remove_file(&path).context("cannot remove a file")?;
            }
        }
        self.kill()
    }

    fn kill(&mut self) -> anyhow::Result<ExitStatus> {
        // The process may be gone already, which is fine.
        let _ = self.process.child.kill();
        self.process.child.wait().context("cannot wait for the worker")
    }

    fn discard_output(&mut self) -> anyhow::Result<()> {
        for file in [&self.output, &self.records] {
            if file.metadata()?.len() > 0 {
                file.set_len(0).context("cannot empty the worker's output")?;
            }
        }
        Ok(())
    }

    /// What the device reported since the case began: a simulated one in records, others in text.
    fn reports(&mut self) -> anyhow::Result<Reports> {
        const MOST: u64 = 4 << 20;
        if matches!(self.device, Device::Sim(_)) {
            let reports = Reports::from_records(&read(&mut self.records, 0, MOST)?);
            if !reports.is_empty() {
                return Ok(reports);
            }
        }
        let length = self.output.metadata()?.len();
        if length <= 2 * END {
            return Ok(Reports::from_text(&read(&mut self.output, 0, length)?));
        }
        // The first report is at the beginning, and the fault may be at the end. Lines that are cut belong to no report.
        let first = read(&mut self.output, 0, END)?;
        let last = self.captured()?;
        let first = first.rsplit_once('\n').map_or("", |(whole, _)| whole);
        let last = last.split_once('\n').map_or("", |(_, whole)| whole);
        Ok(Reports::from_text(&format!("{first}\n[…]\n{last}")))
    }

    /// The last of what the worker printed since the case began.
    fn captured(&mut self) -> anyhow::Result<String> {
        let start = self.output.metadata()?.len().saturating_sub(END);
        read(&mut self.output, start, END)
    }
}

/// How much is read of either end of what a worker printed.
const END: u64 = 16_384;

/// At most `most` bytes of a file.
fn read(file: &mut File, start: u64, most: u64) -> anyhow::Result<String> {
    if file.metadata()?.len() == 0 {
        return Ok(String::new());
    }
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    Read::by_ref(file).take(most).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.kill();
    }
}

/// The result of a case on a worker's device.
#[derive(Debug)]
pub struct Answer {
    /// The first run's outcome.
    pub outcome: Outcome,
    /// The second run's outcome, if it differs.
    pub again: Option<Outcome>,
    /// What the device remarked in both.
    pub device_reports: DeviceReports,
}

impl From<Outcome> for Answer {
    fn from(outcome: Outcome) -> Self {
        Self { outcome, again: None, device_reports: DeviceReports::default() }
    }
}

/// An injected failure is no violation if candle reports it.
fn excuse_injected(outcome: Outcome, reports: &Reports) -> Outcome {
    let message = match &outcome {
        Outcome::Rejected(refusal) => &refusal.message,
        Outcome::Returned(Returned { backward: Gradients::Rejected(refusal), .. }) => &refusal.message,
        Outcome::Faulted(fault) => &fault.message,
        _ => return outcome,
    };
    let mut reported =
        reports.injected().filter(|asked| asked.rsplit(' ').next().is_some_and(|error| message.contains(error)));
    reported.next().map_or(outcome.clone(), |asked| Outcome::Unsupported(format!("asked to fail: {asked}")))
}
