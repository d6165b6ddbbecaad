//! The parent's side of a worker: its process, its deadline, and how to interpret its end.

mod sanitized;

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use anyhow::{Context, bail};
use serde::de::DeserializeOwned;
use wait_timeout::ChildExt;

use super::answer::Answer;
use super::captured::Captured;
use super::cause_of_death::{cause_of_death, is_killed};
use super::deadline::{Stuck, Timed, Timer, Waits, growth};
use super::diagnosis::Reports;
use super::fence::Side;
use super::folder::Folder;
use super::journal::Journal;
use super::machine_memory::MachineMemory;
use super::protocol::{self, Hello, Reply, Request, Run};
use super::start::{DeviceLost, Started, is_late, kill};
use super::unusable_device::UnusableDevice;
use super::{Deadline, WorkerSpec, environment, kernel_warm_up};
use crate::case::Case;
use crate::coverage::Coverage;
use crate::device::Device;
use crate::ops::wants_second;
use crate::outcome::{Gradients, Outcome, Returned};

/// A worker process for one device.
#[derive(Debug)]
pub struct Worker {
    device: Device,
    spec: WorkerSpec,
    deadline: Duration,
    folder: Folder,
    captured: Captured,
    process: Started,
    number: u64,
    /// The number of the last request before this process.
    number_before: u64,
    coverage: Coverage,
    memory: MachineMemory,
}

impl Worker {
    /// Starts a worker and waits for its first message. Its replacements are started with the same `spec`.
    pub fn start(device: Device, spec: &WorkerSpec) -> anyhow::Result<Self> {
        let folder = Folder::new()?;
        let captured = Captured::new(&folder, device)?;
        let started = kernel_warm_up::first(device, spec, |compiles| {
            Started::new(device, spec, &folder, captured.output(), compiles)
        });
        let process = started.map_err(DeviceLost::at_first)?;
        UnusableDevice::check(&process.hello, spec.limits)?;
        let (coverage, memory) = (Coverage::default(), MachineMemory::now());
        let (spec, deadline) = (spec.clone(), spec.limits.deadline);
        Ok(Self { device, spec, deadline, folder, captured, process, number: 0, number_before: 0, coverage, memory })
    }

    /// The device that this worker serves.
    pub fn device(&self) -> Device {
        self.device
    }

    /// The id of its process.
    pub fn process(&self) -> u32 {
        self.process.child.id()
    }

    /// The first message of the worker.
    pub fn hello(&self) -> &Hello {
        &self.process.hello
    }

    /// Sets the deadline of the following cases.
    pub fn set_deadline(&mut self, deadline: Deadline) {
        self.deadline = deadline.of(self.spec.limits.deadline, self.device);
    }

    /// Ends the process and starts another. The error is a [`DeviceLost`] if the new one cannot open the device, or gets no
    /// kernel to its end: a hung kernel goes with its process, a wedged device does not come back.
    fn restart(&mut self) -> anyhow::Result<()> {
        // A GPU that is resetting comes back within seconds.
        const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(4)];
        self.end()?;
        let start = || {
            let (folder, output) = (&self.folder, self.captured.output());
            Started::new(self.device, &self.spec, folder, output, false)
        };
        let mut started = start();
        let may_come_back =
            |error: &anyhow::Error| error.downcast_ref::<DeviceLost>().is_some_and(|lost| !lost.is_wedged);
        for pause in PAUSES {
            if started.as_ref().is_err_and(may_come_back) {
                std::thread::sleep(pause);
                started = start();
            }
        }
        self.process = started?;
        self.number_before = self.number;
        Ok(())
    }

    /// The next case runs in a new process: another one, unless this one has run nothing. A process that replaced a dead one is often
    /// still new when a proof asks for one. The error is a [`DeviceLost`].
    pub fn renew(&mut self) -> anyhow::Result<()> {
        if self.number == self.number_before { Ok(()) } else { self.restart() }
    }

    /// Runs `case` twice. An `Err` is a failure of the harness, or a [`DeviceLost`] with this case.
    pub fn run(&mut self, case: &Case) -> anyhow::Result<Answer> {
        match self.device {
            Device::Cpu => self.run_fenced(case, Side::End),
            Device::Cuda(_) | Device::Sim(_) => self.run_located(case, Run::Twice),
        }
    }

    /// Runs `case` twice on the CPU, the second time with a fence on this side of each allocation. Errors as of [`run`](Self::run).
    pub fn run_fenced(&mut self, case: &Case, side: Side) -> anyhow::Result<Answer> {
        self.run_located(case, Run::Fenced(side))
    }

    /// Runs `case` once: with it another case is compared, which has run twice. Errors as of [`run`](Self::run).
    pub fn run_once(&mut self, case: &Case) -> anyhow::Result<Outcome> {
        Ok(self.run_located(case, Run::Once)?.outcome)
    }

    fn run_located(&mut self, case: &Case, run: Run) -> anyhow::Result<Answer> {
        let located = self.run_retrying(case, run).map(|answer| answer.located(self.spec.candle.as_deref()));
        located.map_err(|mut error| {
            if let Some(lost) = error.downcast_mut::<DeviceLost>() {
                lost.case = Some(case.clone());
            }
            error
        })
    }

    /// Runs `case`, and tries again if the worker dies before it begins the case.
    fn run_retrying(&mut self, case: &Case, run: Run) -> anyhow::Result<Answer> {
        // A worker may die before it begins the case (somebody kills it, the machine runs out of memory). The case is not
        // to blame.
        for attempt in 0..3 {
            match self.attempt(case, run, attempt == 0)? {
                None => {}
                // The index of the failing call counts from the start of the process: each case needs a new one.
                Some(answer) if environment::has_injected_failures(self.device, self.spec.behaviour) => {
                    let outcome = excuse_injected(answer.outcome, &self.reports()?);
                    self.restart()?;
                    return Ok(outcome.into());
                }
                Some(answer) => return Ok(answer),
            }
        }
        let (device, place) = (self.device, std::env::temp_dir());
        bail!(
            "the worker for {device} ends before it begins a case; is {} full? TMPDIR names another place",
            place.display()
        )
    }

    /// One attempt; `None` if the worker died before it began the case, or if the `first` attempt ended in a way that may have nothing
    /// to do with the case: something stopped the worker, or killed it.
    fn attempt(&mut self, case: &Case, run: Run, first: bool) -> anyhow::Result<Option<Answer>> {
        self.number += 1;
        let frame = protocol::encode(&Request { number: self.number, case: case.clone(), run })?;
        self.captured.discard()?;
        let sent = io::Write::write_all(&mut self.process.socket, &frame);
        let mut before_fence = None;
        let answer = sent.and_then(|()| self.answer(case)).and_then(|reply| match run {
            Run::Fenced(_) => self.beside_fence(case, reply, &mut before_fence),
            Run::Once | Run::Twice => Ok(reply),
        });
        match answer {
            Ok(reply) if reply.number == self.number => match reply.outcome {
                Outcome::Faulted(fault) => {
                    let reports = self.reports()?;
                    let (outcome, device_reports) = (reports.explain(fault), reports.device_reports(true));
                    self.replace_after(case, &outcome)?;
                    Ok(Some(Answer::new(outcome, None, device_reports)))
                }
                outcome => {
                    let device_reports = self.reports()?.device_reports(false);
                    Ok(Some(Answer::new(outcome, reply.again, device_reports)))
                }
            },
            Ok(reply) => bail!("the worker answered case {} when asked case {}", reply.number, self.number),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                Err(error).context("the worker sent an invalid answer")
            }
            Err(error) => {
                let stuck = error.get_ref().filter(|why| why.is::<Stuck>()).map(ToString::to_string);
                let waits = matches!(error.get_ref(), Some(why) if why.is::<Waits>());
                let outcome = self.post_mortem(is_late(&error))?;
                let device_reports = self.captured.reports()?.device_reports(false);
                if let Some(before) = before_fence.filter(|_| !device_reports.reports.is_empty()) {
                    self.restart()?;
                    return Ok(Some(Answer::new(before, None, device_reports)));
                }
                let outcome = outcome.map(|outcome| stuck.map_or(outcome, Outcome::Unsupported));
                let is_killed = outcome.as_ref().is_some_and(is_killed);
                match &outcome {
                    Some(outcome) => self.replace_after(case, outcome)?,
                    None => self.restart()?,
                }
                match outcome {
                    Some(_) if first && (waits || is_killed) => Ok(None),
                    Some(_) if is_killed => bail!("the machine killed the worker: {}", self.memory.why_killed()),
                    outcome => Ok(outcome.map(Answer::from)),
                }
            }
        }
    }

    /// Restarts after `case` had this outcome. If a device is lost, nobody knows whether the case is to blame: the outcome is no
    /// verdict on it then.
    fn replace_after(&mut self, case: &Case, outcome: &Outcome) -> anyhow::Result<()> {
        let both = wants_second(case) && matches!(outcome, Outcome::TimedOut(_));
        let replaced = self.restart().and_then(|()| if both { self.probe_second() } else { Ok(()) });
        replaced.map_err(|mut error| {
            if let Some(lost) = error.downcast_mut::<DeviceLost>() {
                lost.outcome = Some(outcome.summary());
            }
            error
        })
    }

    /// Whether the GPU after this one answers, which a case of two devices uses, too.
    fn probe_second(&self) -> anyhow::Result<()> {
        let Device::Cuda(ordinal) = self.device else { return Ok(()) };
        let second = Device::Cuda(ordinal.saturating_add(1));
        let is_wedged = |error: &anyhow::Error| error.downcast_ref::<DeviceLost>().is_some_and(|lost| lost.is_wedged);
        let started = Self::start(second, &self.spec);
        started.map_or_else(|error| if is_wedged(&error) { Err(error) } else { Ok(()) }, |_| Ok(()))
    }

    /// The reply of a first run, with the outcome of the fenced one. If that ends the process, `before` is the outcome of the first: only
    /// the second has a fence.
    fn beside_fence(&mut self, case: &Case, reply: Reply, before: &mut Option<Outcome>) -> io::Result<Reply> {
        // It takes a while to find out whose the access is.
        match self.read(case, self.spec.limits.deadline) {
            Ok(again) => Ok(Reply { again: Some(again), ..reply }),
            Err(error) => {
                *before = Some(reply.outcome);
                Err(error)
            }
        }
    }

    fn answer(&mut self, case: &Case) -> io::Result<Reply> {
        self.read(case, self.deadline)
    }

    /// The next message about a case. A larger one has more time.
    fn read<T: DeserializeOwned>(&mut self, case: &Case, deadline: Duration) -> io::Result<T> {
        let deadline = deadline.saturating_mul(self.slowdown().saturating_mul(growth(case)));
        let timer = Timer::of(self.device, self.process.child.id(), self.process.device_time.clone(), deadline);
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
        Ok(Some(cause_of_death(status, phase, &self.captured.end()?)))
    }

    /// Shuts the process down and returns what its simulated device executed, including in the processes before it.
    pub fn finish(mut self) -> anyhow::Result<Coverage> {
        self.end()?;
        Ok(std::mem::take(&mut self.coverage))
    }

    /// Shuts the process down. A simulated device writes its coverage first; a killed process loses it.
    fn end(&mut self) -> anyhow::Result<ExitStatus> {
        const PATIENCE: Duration = Duration::from_secs(10);
        if matches!(self.device, Device::Sim(_)) || self.tool().is_some() {
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
        self.kill_under_tool();
        kill(self.device, &mut self.process.child)
    }

    /// What the device reported since the case began.
    fn reports(&mut self) -> anyhow::Result<Reports> {
        match self.tool() {
            Some(tool) => self.reports_under(tool),
            None => self.captured.reports(),
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.kill();
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
