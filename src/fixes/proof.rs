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

/// What becomes of a subject on a device with a set of fixes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    Mended,
    Left,
    Broken,
    Nothing,
}

/// The proof of the fix of the cause `name`, which is in some of `sets`. Subjects fail as in `before` with candle as released, and as in
/// one item of `after` with each of the sets.
pub fn proof(
    (name, fix): (&str, &Fix),
    sets: &[Fixes],
    subjects: &[Subject],
    devices: &[Device],
    before: &Seen,
    after: &[Seen],
) -> anyhow::Result<Proof> {
    let mut proof = Proof {
        candle: Version::parse(CANDLE)?,
        fix: digest_of(&Fixes::from([(name.to_string(), fix.clone())])),
        among: sets.iter().flat_map(Fixes::keys).collect::<BTreeSet<_>>().len(),
        devices: devices.iter().copied().collect(),
        run: subjects.len(),
        mends: BTreeSet::new(),
        leaves: BTreeSet::new(),
        breaks: BTreeSet::new(),
    };
    for (number, (subject, before)) in subjects.iter().zip(before).enumerate() {
        let is_its_own = subject.cause.as_deref() == Some(name);
        let on_device = |(device, old): (&Device, &Vec<Signature>)| {
            let with = |(set, seen): (&Fixes, &Seen)| {
                let new = seen[number].get(device).map_or(&[][..], |new| new);
                (set.contains_key(name), turn(subject, old, new))
            };
            effect(&sets.iter().zip(after).map(with).collect::<Vec<_>>(), is_its_own)
        };
        let effects: Vec<Option<Effect>> = before.iter().map(on_device).collect();
        let has = |effect| effects.contains(&Some(effect));
        match () {
            () if has(Effect::Breaks) => proof.breaks.insert(subject.name.clone()),
            () if has(Effect::Leaves) => proof.leaves.insert(subject.name.clone()),
            () if has(Effect::Mends) => proof.mends.insert(subject.name.clone()),
            () => false,
        };
    }
    Ok(proof)
}

/// What a fix does to a subject on a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    Mends,
    Leaves,
    Breaks,
}

/// The effect of a fix by what becomes of the subject in each set, and whether the set has the fix.
fn effect(turns: &[(bool, Turn)], is_its_own: bool) -> Option<Effect> {
    let with = |has_fix: bool| turns.iter().filter(move |(has, _)| *has == has_fix).map(|(_, turn)| *turn);
    let exactly_there = |turn: Turn| turns.iter().all(|(has, own)| (*own == turn) == *has);
    match () {
        () if exactly_there(Turn::Broken) => Some(Effect::Breaks),
        // Another fix may mend its own, too.
        () if exactly_there(Turn::Mended) || is_its_own && with(true).all(|turn| turn == Turn::Mended) => {
            Some(Effect::Mends)
        }
        () if is_its_own && with(true).any(|turn| turn == Turn::Left) => Some(Effect::Leaves),
        () => None,
    }
}

/// What becomes of a subject on a device where it failed in the ways `old`, and now fails in the ways `new`.
fn turn(subject: &Subject, old: &[Signature], new: &[Signature]) -> Turn {
    let own = subject.kept.signature.as_ref().map(Signature::on_one_device);
    let failed = own.as_ref().is_some_and(|own| old.contains(own));
    let is_new = |other: &Signature| !old.iter().any(|before| before.is_alike(other));
    let fails = own.as_ref().is_some_and(|own| new.iter().any(|other| own.is_alike(other)));
    match () {
        () if old.is_empty() && !new.is_empty() => Turn::Broken,
        // Something else may come to light behind it.
        () if failed && (fails || new.iter().any(is_new)) => Turn::Left,
        () if failed => Turn::Mended,
        () => Turn::Nothing,
    }
}
