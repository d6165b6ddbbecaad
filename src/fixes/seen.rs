//! How failures fail with one candle, kept in files as it is seen: a proof that was interrupted goes on where it stopped.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Context as _;

use super::Subject;
use crate::candles::digest;
use crate::device::Device;
use crate::exec::{CandleUnderTest, Deadline, Executor, WorkerSpec, pool};
use crate::ops;
use crate::oracle::Signature;
use crate::store::regression::failures;
use crate::store::write_atomically;

/// How a failure fails on each device.
pub type Failing = BTreeMap<Device, Vec<Signature>>;

/// How each subject fails.
pub type Seen = Vec<Failing>;

/// The folder of one candle, with a file for each subject.
#[derive(Debug)]
pub struct Kept(PathBuf);

impl Kept {
    /// What `folder` keeps of the candle of `spec` on `devices` with its deadline, as this program judges it.
    pub fn open(folder: &Path, spec: &WorkerSpec, devices: &[Device]) -> anyhow::Result<Self> {
        let program = std::fs::read(std::env::current_exe()?).context("cannot read this program")?;
        let candle =
            spec.candle.as_ref().map_or_else(|| CandleUnderTest::described(None), |candle| candle.digest.clone());
        let on: Vec<String> = devices.iter().map(ToString::to_string).collect();
        let deadline = spec.limits.deadline.as_nanos().to_le_bytes();
        Ok(Self(folder.join(digest([&program[..], candle.as_bytes(), on.join(",").as_bytes(), &deadline]))))
    }

    fn file(&self, subject: &Subject) -> PathBuf {
        self.0.join(subject.key() + ".json")
    }

    fn get(&self, subject: &Subject) -> Option<Failing> {
        serde_json::from_slice(&std::fs::read(self.file(subject)).ok()?).ok()
    }

    fn add(&self, subject: &Subject, failing: &Failing) -> anyhow::Result<()> {
        write_atomically(&self.file(subject), &serde_json::to_vec(failing)?)
    }
}

/// How `subjects` fail on `devices`: as `kept`, or else by a run with as many workers for each device as `jobs`. `done` hears of each run.
pub fn observe(
    subjects: &[Subject],
    devices: &[Device],
    spec: &WorkerSpec,
    jobs: usize,
    kept: &Kept,
    done: &(impl Fn(&str) + Sync),
) -> anyhow::Result<Seen> {
    let mut seen: Vec<Option<Failing>> = subjects.iter().map(|subject| kept.get(subject)).collect();
    let open: Vec<usize> = (0..subjects.len()).filter(|&number| seen[number].is_none()).collect();
    let next = AtomicU64::new(0);
    let run = pool::each(
        jobs.min(open.len()),
        || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|turn| (*turn as usize) < open.len()),
        || Executor::start(devices, spec),
        |executor, turn| {
            let subject = &subjects[open[turn as usize]];
            let Subject { name, kept: failure, .. } = subject;
            // Of an op that this build or the candle lacks, nothing is known.
            let failing = match ops::find(&failure.case.op).filter(|_| spec.lacks(&failure.case).is_none()) {
                Some(op) => {
                    let observations = executor.observe(&failure.case, Deadline::Full)?;
                    failures(failure, op, &observations).into_iter().collect()
                }
                None => Failing::new(),
            };
            kept.add(subject, &failing)?;
            done(name);
            Ok(Some(failing))
        },
        |executor| executor.finish().map(|_| ()),
    )?;
    for (number, failing) in open.into_iter().zip(run) {
        seen[number] = Some(failing);
    }
    Ok(seen.into_iter().flatten().collect())
}
