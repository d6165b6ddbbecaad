//! The driver of a GPU compiles each module of candle's kernels when a process first loads it (the largest takes more than five
//! seconds on an H200), and keeps the result for the user. The first worker of a GPU loads all of them, so that no case has to wait.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::sanitizer::Sanitizer;
use super::{Build, WorkerSpec};
use crate::device::Device;

/// The variable that makes a worker load all of candle's kernels after its first message, and then send that again.
pub const COMPILE: &str = "SNUFFER_COMPILE";

/// How long the driver may take for all modules.
pub const PATIENCE: Duration = Duration::from_secs(600);

/// Starts a worker by `start`, which is told whether it is the first of its GPU and its kernels in this process. The others wait
/// until that one has loaded the kernels.
pub fn first<T>(device: Device, spec: &WorkerSpec, start: impl FnOnce(bool) -> anyhow::Result<T>) -> anyhow::Result<T> {
    static LOADED: Mutex<BTreeSet<(Device, Build, Option<String>)>> = Mutex::new(BTreeSet::new());
    // A tool changes what it loads, and a case has much more time under it.
    if !device.is_gpu() || Sanitizer::of(device, spec.behaviour.sanitizer).is_some() {
        return start(false);
    }
    let key = (device, spec.build, spec.candle.as_ref().map(|candle| candle.digest.clone()));
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    if loaded.contains(&key) {
        drop(loaded);
        return start(false);
    }
    let started = start(true)?;
    loaded.insert(key);
    Ok(started)
}
