//! The list of tests, each with the devices that it runs on.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use libtest_mimic::{Failed, Trial};
use snuffer::device::Device;

use crate::machine::{self, Machine, Role};

/// What hardware was recorded to do.
pub const RECORDINGS: &str = "corpora/golden";

/// The tests of a file.
pub struct File {
    /// The name of the file, which is the first part of its tests' names.
    pub name: &'static str,
    /// Its tests.
    pub tests: &'static [Test],
    /// What nobody would notice without them.
    pub misses: &'static str,
}

/// A test.
pub struct Test {
    /// Its name, a sentence.
    pub name: &'static str,
    /// What it does.
    pub run: Run,
}

/// What a test does, and on which devices.
#[derive(Clone, Copy)]
pub enum Run {
    /// Once. It needs no CUDA device.
    Once(fn()),
    /// On each device.
    Each(fn(Device)),
    /// On each CUDA device, real or simulated.
    Cuda(fn(Device)),
    /// On the simulated device, once hardware was recorded in [`RECORDINGS`].
    Recorded(fn(Device)),
    /// On the simulated device, whose checkers and counters no other device has.
    Simulated(fn(Device)),
}

impl Run {
    /// What it does on `device`, if it runs there.
    pub fn is_on(self, device: Device) -> Option<fn(Device)> {
        match (self, device) {
            (Self::Each(run), _)
            | (Self::Cuda(run), Device::Cuda(_) | Device::Sim(_))
            | (Self::Simulated(run) | Self::Recorded(run), Device::Sim(_)) => Some(run),
            _ => None,
        }
    }
}

/// Lists functions as tests: `Each: name, name; Once: name`.
macro_rules! tests {
    ($($run:ident: $($name:ident),+);+ $(;)?) => {
        &[$($($crate::plan::Test { name: stringify!($name), run: $crate::plan::Run::$run($name) }),+),+]
    };
}
pub(crate) use tests;

static RAN: Mutex<BTreeMap<Device, usize>> = Mutex::new(BTreeMap::new());

/// How many tests ran on `device`.
pub fn ran(device: Device) -> usize {
    RAN.lock().expect("counting does not panic").get(&device).copied().unwrap_or_default()
}

/// Whether hardware was recorded.
pub fn are_there_recordings() -> bool {
    Path::new(RECORDINGS).exists()
}

/// Runs a test, and says how long it took if that was long.
fn timed(name: &str, run: impl FnOnce()) {
    let begun = Instant::now();
    run();
    let took = begun.elapsed();
    if took >= Duration::from_secs(10) {
        eprintln!("{name} took {:.0} s", took.as_secs_f64());
    }
}

/// A trial for each test and each device on which it runs.
pub fn trials(files: &'static [File], machine: Machine) -> Vec<Trial> {
    let mut trials = Vec::new();
    for File { name: file, tests, .. } in files {
        for Test { name, run: kind } in *tests {
            if let Run::Once(run) = *kind {
                let name = format!("{file}::{name}");
                trials.push(Trial::test(name.clone(), move || {
                    timed(&name, run);
                    Ok(())
                }));
            }
            for (device, role) in machine.devices() {
                let Some(run) = kind.is_on(device) else { continue };
                let name = format!("{file}::{name}::{device}");
                let trial = Trial::test(name.clone(), move || {
                    machine::open(device).map_err(Failed::from)?;
                    *RAN.lock().expect("counting does not panic").entry(device).or_default() += 1;
                    timed(&name, || run(device));
                    Ok(())
                });
                let lacks_recordings = matches!(kind, Run::Recorded(_)) && !are_there_recordings();
                trials.push(trial.with_ignored_flag(role == Role::Excused || lacks_recordings));
            }
        }
    }
    trials
}
