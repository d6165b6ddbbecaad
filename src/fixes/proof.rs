//! Proves fixes: runs regressions and findings with candle as released and with fixes, and compares how they fail.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};

use semver::Version;

use crate::CANDLE;
use crate::candles::fixed::{Fixes, digest_of};
use crate::causes::{Fix, Proof};
use crate::device::Device;
use crate::exec::{Build, Deadline, Executor, Limits, pool};
use crate::ops;
use crate::oracle::Signature;
use crate::store::regression::{Regression, failures};

/// A failure that a fix may mend.
#[derive(Debug)]
pub struct Subject {
    /// The name of the failure, which a store gives it.
    pub name: String,
    /// The case, and how it fails.
    pub kept: Regression,
    /// The cause that a predicate says it has.
    pub cause: Option<String>,
}

/// How each subject fails on each device.
pub type Seen = Vec<BTreeMap<Device, Vec<Signature>>>;

/// Runs all of `subjects` on `devices`, with as many workers for each as `jobs`.
pub fn observe(
    subjects: &[Subject],
    devices: &[Device],
    limits: Limits,
    jobs: usize,
    done: &(impl Fn(&str) + Sync),
) -> anyhow::Result<Seen> {
    let next = AtomicU64::new(0);
    pool::each(
        jobs,
        || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|number| (*number as usize) < subjects.len()),
        || Executor::start(devices, Build::Checked, limits),
        |executor, number| {
            let Subject { name, kept, .. } = &subjects[number as usize];
            // Of an op that this build lacks, nothing is known.
            let Some(op) = ops::find(&kept.case.op) else { return Ok(Some(BTreeMap::new())) };
            let observations = executor.observe(&kept.case, Deadline::Full)?;
            done(name);
            Ok(Some(failures(kept, op, &observations).into_iter().collect()))
        },
        |executor| executor.finish().map(|_| ()),
    )
}

/// What one device says of a fix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    Mended,
    Left,
    Broken,
    Nothing,
}

/// The proof of the fixes with which subjects fail as in `after`, and without as in `before`.
pub fn proof(
    fixes: &Fixes,
    subjects: &[Subject],
    devices: &[Device],
    before: &Seen,
    after: &Seen,
) -> anyhow::Result<Proof> {
    let mut proof = Proof {
        candle: Version::parse(CANDLE)?,
        fix: digest_of(fixes),
        alone: fixes.len() == 1,
        devices: devices.iter().copied().collect(),
        run: subjects.len(),
        mends: BTreeSet::new(),
        leaves: BTreeSet::new(),
        breaks: BTreeSet::new(),
    };
    for (subject, (before, after)) in subjects.iter().zip(before.iter().zip(after)) {
        let is_its_own = subject.cause.as_ref().is_some_and(|cause| fixes.contains_key(cause));
        let turns =
            before.iter().map(|(device, old)| turn(subject, old, after.get(device).map_or(&[], |new| new), is_its_own));
        let turns: Vec<Turn> = turns.collect();
        let has = |turn| turns.contains(&turn);
        let name = subject.name.clone();
        match () {
            () if has(Turn::Broken) => proof.breaks.insert(name),
            () if has(Turn::Left) && is_its_own => proof.leaves.insert(name),
            // What has another cause may pass by chance.
            () if subject.cause.is_some() && !is_its_own => false,
            () if has(Turn::Mended) && !has(Turn::Left) => proof.mends.insert(name),
            () => false,
        };
    }
    Ok(proof)
}

/// What `all`, a proof of several fixes, says of the one of `cause`: what it breaks may be of any of them.
pub fn part(all: &Proof, subjects: &[Subject], cause: &str, fix: &Fix) -> Proof {
    let is_its_own =
        |name: &&String| subjects.iter().any(|one| one.name == **name && one.cause.as_deref() == Some(cause));
    let own = |names: &BTreeSet<String>| names.iter().filter(is_its_own).cloned().collect();
    let fix = digest_of(&Fixes::from([(cause.to_string(), fix.clone())]));
    Proof { fix, alone: false, mends: own(&all.mends), leaves: own(&all.leaves), ..all.clone() }
}

/// What becomes of the subject's failure on a device.
fn turn(subject: &Subject, old: &[Signature], new: &[Signature], is_its_own: bool) -> Turn {
    let own = subject.kept.signature.as_ref().map(Signature::on_one_device);
    let failed = own.as_ref().is_some_and(|own| old.contains(own));
    let fails = own.as_ref().is_some_and(|own| new.iter().any(|other| own.is_alike(other)));
    let is_new = |other: &Signature| !old.iter().any(|before| before.is_alike(other));
    match () {
        // What was behind the failure of its own cause comes to light.
        () if new.iter().any(is_new) => {
            if failed && is_its_own {
                Turn::Left
            } else {
                Turn::Broken
            }
        }
        () if failed && fails => Turn::Left,
        () if failed => Turn::Mended,
        () => Turn::Nothing,
    }
}
