//! Devices that are set up while a hunt already runs on others.

use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use super::{Event, Shared, canary};
use crate::device::Device;
use crate::exec::CandleUnderTest;
use crate::settle::complete;

/// A set-up that goes on while a hunt begins.
#[derive(Debug)]
pub struct SetUp {
    /// Disconnected when the set-up has ended.
    pub ended: Receiver<()>,
    /// The devices that are there then.
    pub devices: fn() -> Vec<Device>,
}

/// The devices of a hunt, which may become more, and fewer.
#[derive(Debug)]
pub struct Devices {
    ready: RwLock<Vec<Device>>,
    /// Whether a thread works on one of the GPUs instead of on all.
    spread: bool,
    /// The set-up that the hunt does not wait for. `None` when all devices are there.
    set_up: Mutex<Option<SetUp>>,
    /// Since when all devices are there: a hunt's time counts from then.
    complete: Mutex<Option<Instant>>,
    /// The turn of a thread before that.
    turn: Mutex<()>,
}

/// What became of a set-up.
#[derive(Debug)]
struct Joined {
    /// The devices that joined; none if the set-up failed.
    devices: Vec<Device>,
    /// Planted faults that were not noticed on them. If there are any, they did not join.
    missed: Vec<String>,
}

impl Devices {
    /// `ready` from the beginning, and those of `set_up` when it has ended.
    pub fn new(ready: Vec<Device>, spread: bool, set_up: Option<SetUp>) -> Self {
        let complete = if set_up.is_none() { Some(Instant::now()) } else { None };
        Self {
            ready: RwLock::new(ready),
            spread,
            set_up: Mutex::new(set_up),
            complete: Mutex::new(complete),
            turn: Mutex::new(()),
        }
    }

    /// The devices on which cases run now.
    pub fn now(&self) -> Vec<Device> {
        self.ready.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The devices on which the cases of a thread run now: of the GPUs one, in turn, if they are spread.
    pub fn of_thread(&self, number: usize) -> Vec<Device> {
        let mut devices = self.now();
        if self.spread {
            let gpus: Vec<Device> = devices.iter().copied().filter(|device| device.is_gpu()).collect();
            devices.retain(|device| !device.is_gpu() || gpus[number % gpus.len()] == *device);
        }
        devices
    }

    /// Takes a device out, and returns those that are left. `None` if it was taken out before.
    pub fn take_out(&self, device: Device) -> Option<Vec<Device>> {
        let mut ready = self.ready.write().unwrap_or_else(PoisonError::into_inner);
        let before = ready.len();
        ready.retain(|one| *one != device);
        (ready.len() < before).then(|| ready.clone())
    }

    /// Before all devices are there, lets one thread work at a time: the set-up needs the processors, too.
    pub fn turn(&self) -> Option<MutexGuard<'_, ()>> {
        let complete = self.complete.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        (!complete).then(|| self.turn.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// For how long all devices have been there.
    pub fn complete_for(&self) -> Duration {
        let complete = *self.complete.lock().unwrap_or_else(PoisonError::into_inner);
        complete.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Takes in the devices of the set-up if it has just ended, after a canary on them. `None` in all other cases.
    fn take_in(&self, candle: Option<&Arc<CandleUnderTest>>) -> anyhow::Result<Option<Joined>> {
        // While another thread is at it, this one goes on with the devices that it has.
        let Ok(mut set_up) = self.set_up.try_lock() else { return Ok(None) };
        let ended = |set_up: &mut SetUp| set_up.ended.try_recv() == Err(TryRecvError::Disconnected);
        let Some(SetUp { devices, .. }) = set_up.take_if(ended) else { return Ok(None) };
        let ready = self.now();
        let devices: Vec<Device> = devices().into_iter().filter(|device| !ready.contains(device)).collect();
        let missed = canary::check(&devices, candle.cloned())?.missed;
        if missed.is_empty() {
            self.ready.write().unwrap_or_else(PoisonError::into_inner).extend(&devices);
        }
        *self.complete.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        Ok(Some(Joined { devices, missed }))
    }
}

impl Shared<'_> {
    /// Takes in devices that have been set up meanwhile.
    pub(super) fn take_in(&self) -> anyhow::Result<()> {
        let Some(Joined { devices, missed }) = self.devices.take_in(self.plan.spec.candle.as_ref())? else {
            return Ok(());
        };
        if !missed.is_empty() {
            self.stop.store(true, Ordering::Relaxed);
            self.state().missed = missed;
            return Ok(());
        }
        self.state().progress.record.devices.extend(devices.iter().map(ToString::to_string));
        (self.on_event)(Event::Joined(&devices));
        self.complete_findings()
    }

    /// Runs the findings of this campaign that could not be run in the unchecked build, as it was not there yet.
    fn complete_findings(&self) -> anyhow::Result<()> {
        for (_, finding) in self.store.all()? {
            let Ok(mut finding) = finding else { continue };
            if self.claims.has(&finding.signature.op, &finding.signature) && complete(&mut finding, &self.plan.spec)? {
                self.store.replace(&finding)?;
            }
        }
        Ok(())
    }
}
