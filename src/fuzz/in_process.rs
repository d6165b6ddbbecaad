//! Devices in this process, for fuzzers: they need the coverage of their own process and have a time limit of their own.

use anyhow::Context;

use super::captured_stderr::CapturedStderr;
use crate::case::Case;
use crate::device::Device;
use crate::exec::diagnosis;
use crate::ops::{self, own};
use crate::outcome::{DeviceReports, Observation, Outcome};
use crate::run::{self, Opened};

/// The devices that this process has opened.
#[derive(Debug)]
pub struct InProcess {
    devices: Vec<(Device, Opened)>,
    stderr: CapturedStderr,
}

impl InProcess {
    /// Opens `devices`.
    pub fn open(devices: &[Device]) -> anyhow::Result<Self> {
        let devices = devices.iter().map(|&device| Ok((device, opened(device)?))).collect::<anyhow::Result<_>>()?;
        Ok(Self { devices, stderr: CapturedStderr::new()? })
    }

    /// The devices, in order.
    pub fn devices(&self) -> impl Iterator<Item = Device> + '_ {
        self.devices.iter().map(|(device, _)| *device)
    }

    /// Runs the case once on each device, and once more contiguous if it has views, and each of its samples alone. Differs from
    /// [`crate::examine`], which runs cases in workers, twice, and under a deadline: a second run of each input would cost speed.
    pub fn observe(&mut self, case: &Case) -> anyhow::Result<Vec<Observation>> {
        let baseline = (!case.is_plain()).then(|| case.contiguous());
        let samples = own::samples(case);
        let mut observations = Vec::with_capacity(self.devices.len());
        for index in 0..self.devices.len() {
            let (outcome, device_reports) = self.run(index, case)?;
            let mut alone = |case: &Case| Ok::<_, anyhow::Error>(self.run(index, case)?.0);
            let contiguous = match &baseline {
                Some(baseline) if !outcome.lost_the_process() => Some(alone(baseline)?),
                _ => None,
            };
            let sibling = ops::beside(case, &outcome).map(|sibling| alone(&sibling)).transpose()?;
            let samples = samples.iter().map(|sample| alone(&sample.case)).collect::<Result<_, _>>()?;
            let device = self.devices[index].0;
            let seen = Observation::new(device, outcome);
            observations.push(Observation { contiguous, sibling, samples, device_reports, ..seen });
        }
        Ok(observations)
    }

    /// Runs the case on one device. A device that faulted is opened again.
    fn run(&mut self, index: usize, case: &Case) -> anyhow::Result<(Outcome, DeviceReports)> {
        let (device, there) = &mut self.devices[index];
        if *device == Device::Cpu {
            return Ok((run::run(case, there, |_| {}), DeviceReports::default()));
        }
        let (outcome, printed) = self.stderr.during(|| run::run(case, there, |_| {}))?;
        let device_reports = diagnosis::device_reports(&printed, matches!(outcome, Outcome::Faulted(_)));
        let Outcome::Faulted(fault) = outcome else { return Ok((outcome, device_reports)) };
        // A simulated device recovers when its last user closes it. A real one would need a new process.
        let device = *device;
        self.devices.remove(index);
        self.devices.insert(index, (device, opened(device)?));
        Ok((diagnosis::explain(fault, &printed), device_reports))
    }
}

fn opened(device: Device) -> anyhow::Result<Opened> {
    run::open(device).with_context(|| format!("cannot open {device}"))
}
