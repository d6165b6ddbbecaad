//! Devices that are lost in a hunt: they go away, or no kernel ends on them any more. The hunt goes on with the others.

use crate::case::Case;
use crate::device::Device;
use crate::examine::Original;
use crate::exec::{DeviceLost, Executor, Limits, UnusableDevice, Worker};
use crate::ops::wants_second;
use crate::settle::{Judged, Settings};
use crate::store::{Record, keep_lost};

use super::late_devices::Devices;
use super::{Event, Plan, Shared};

/// A thread of a hunt, with workers on its devices.
pub struct Thread {
    number: usize,
    pub executor: Executor,
    /// Workers with candle's own kernels beside edited ones.
    pub original: Original,
}

impl Thread {
    /// Its workers, to settle failures.
    pub fn judged(&mut self, settings: Settings) -> Judged<'_> {
        Judged { executor: &mut self.executor, original: &mut self.original, settings }
    }
}

/// Opens the devices of `plan` for the first time, and returns those that answer. A resumed campaign may lack some that it lost
/// before: each gets one more chance. For any other one the error says why it cannot be used.
pub fn open(plan: &Plan, record: &mut Record, on_event: &dyn Fn(Event)) -> anyhow::Result<Vec<Device>> {
    let lost_before = std::mem::take(&mut record.lost);
    let devices = Devices::new(plan.devices.clone(), plan.spread, None);
    for &device in plan.devices.iter().filter(|device| device.is_gpu()) {
        match Worker::start(device, &plan.spec) {
            Ok(worker) => check_memory(&worker, &devices, plan.jobs, plan.spec.limits)?,
            Err(error) => match devices.take_out(device) {
                Some(left) if !left.is_empty() && lost_before.contains(&device.to_string()) => {
                    record.lost.push(device.to_string());
                    on_event(Event::Lost { device, why: &error.to_string(), case: None, left: &left });
                }
                _ => return Err(error),
            },
        }
    }
    Ok(devices.now())
}

/// Whether the memory of a worker's GPU is enough for all workers that it will have.
fn check_memory(worker: &Worker, devices: &Devices, jobs: usize, limits: Limits) -> Result<(), UnusableDevice> {
    let (device, Some(gpu)) = (worker.device(), worker.hello().gpu) else { return Ok(()) };
    let workers = (0..jobs).filter(|number| devices.of_thread(*number).contains(&device)).count();
    UnusableDevice::memory(device, gpu, workers, limits.gpu_memory_mib).map_or(Ok(()), Err)
}

impl Shared<'_> {
    /// A new thread, with workers on its devices.
    pub(super) fn thread(&self, number: usize) -> anyhow::Result<Thread> {
        Ok(Thread { number, executor: self.executor(number)?, original: Original::beside(&self.plan.spec) })
    }

    /// Workers on the devices of a thread. Takes out those that are lost meanwhile.
    fn executor(&self, number: usize) -> anyhow::Result<Executor> {
        loop {
            let started = Executor::start(&self.devices.of_thread(number), &self.plan.spec);
            match started {
                Err(error) if self.goes_on_without(&error, None)? => {}
                started => return started,
            }
        }
    }

    /// Gives a thread workers on its devices of now, if they changed.
    pub(super) fn follow(&self, thread: &mut Thread) -> anyhow::Result<()> {
        if thread.executor.devices() != self.devices.of_thread(thread.number) {
            let before = std::mem::replace(&mut thread.executor, self.executor(thread.number)?);
            self.finish(before)?;
        }
        Ok(())
    }

    /// Whether the hunt goes on after this error of the case at `index`: if it is a lost device, and there are others. The case
    /// is kept and not run again, because it may cost the next device.
    pub(super) fn goes_on_without(&self, error: &anyhow::Error, index: Option<u64>) -> anyhow::Result<bool> {
        let Some(lost) = error.downcast_ref::<DeviceLost>() else { return Ok(false) };
        let drawn = index.map(|index| self.plan.sample(index).drawn.case);
        let case = lost.case.as_ref().or(drawn.as_ref());
        let path = case.map(|case| self.keep_lost_case(index.unwrap_or_default(), lost, case)).transpose()?;
        let left = match self.devices.take_out(lost.device) {
            Some(left) => {
                self.state().progress.record.lost.push(lost.device.to_string());
                left
            }
            None => self.devices.now(),
        };
        let (device, why) = (lost.device, lost.to_string());
        (self.on_event)(Event::Lost { device, why: &why, case: case.zip(path.as_deref()), left: &left });
        Ok(!left.is_empty())
    }

    /// Whether a case of two devices would need one that is lost.
    pub(super) fn has_lost_second(&self, executor: &Executor, case: &Case) -> bool {
        let second = |device: &Device| match device {
            Device::Cuda(ordinal) => Some(Device::Cuda(ordinal.saturating_add(1)).to_string()),
            Device::Cpu | Device::Sim(_) => None,
        };
        let lost = &self.state().progress.record.lost;
        !lost.is_empty()
            && wants_second(case)
            && executor.devices().iter().filter_map(second).any(|it| lost.contains(&it))
    }

    /// Saves the case that cost us a device. Without the device it cannot be examined any further.
    fn keep_lost_case(&self, index: u64, lost: &DeviceLost, case: &Case) -> anyhow::Result<std::path::PathBuf> {
        let name = format!("{}-{}-{index}", case.op, self.plan.seed);
        let outcome = lost.outcome.iter().map(|outcome| format!("what it did on {}: {outcome}", lost.device));
        let journal: Vec<String> = std::iter::once(format!("{lost}, after this case")).chain(outcome).collect();
        keep_lost(&self.store.lost(), &name, case, &journal)
    }
}
