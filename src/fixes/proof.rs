//! Proves fixes: compares how regressions and findings fail with candle as released and with fixes.

use std::collections::BTreeSet;

use semver::Version;

use crate::CANDLE;
use crate::candles::fixed::{Fixes, digest_of};
use crate::causes::{Fix, Proof, RootCause, Sighting, shown};
use crate::device::Device;
use crate::oracle::{Rank, Signature};

use super::Subject;
use super::seen::{Failing, Seen};

/// What becomes of a subject on a device with a set of fixes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    Fixed,
    Left,
    Broken,
    Nothing,
}

/// The proof of the fix of the cause `name`, one of `causes`, which is in some of `sets`. Subjects fail as in `before` with candle as
/// released, and as in one item of `after` with each of the sets.
pub fn proof(
    (name, fix): (&str, &Fix),
    causes: &[RootCause],
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
        fixes: BTreeSet::new(),
        leaves: BTreeSet::new(),
        breaks: BTreeSet::new(),
    };
    for (number, (subject, before)) in subjects.iter().zip(before).enumerate() {
        let on_device = |device: &Device| {
            let is_its_own = subject.causes.get(device).is_some_and(|own| own == name);
            let with = |(set, seen): (&Fixes, &Seen)| {
                let new = seen[number].get(device).map_or(&[][..], |new| new);
                let is_another = |signature: &Signature| has_another(causes, name, subject, *device, signature);
                (set.contains_key(name), turn(subject, before, *device, new, is_another))
            };
            effect(&sets.iter().zip(after).map(with).collect::<Vec<_>>(), is_its_own)
        };
        let effects: Vec<Option<Effect>> = before.keys().map(on_device).collect();
        let has = |effect| effects.contains(&Some(effect));
        match () {
            () if has(Effect::Breaks) => proof.breaks.insert(subject.name.clone()),
            () if has(Effect::Leaves) => proof.leaves.insert(subject.name.clone()),
            () if has(Effect::Fixes) => proof.fixes.insert(subject.name.clone()),
            () => false,
        };
    }
    Ok(proof)
}

/// What passes on a device with candle as released and fails there with all fixes, although no fix of `proofs` alone breaks it.
pub fn broken_together(subjects: &[Subject], proofs: &[Proof], before: &Seen, with_all: &Seen) -> BTreeSet<String> {
    let fails = |seen: &Failing, device: &Device| seen.get(device).is_some_and(|found| !found.is_empty());
    let broken = |(before, after): (&Failing, &Failing)| before.keys().any(|on| !fails(before, on) && fails(after, on));
    let names = subjects.iter().zip(before.iter().zip(with_all)).filter(|(_, seen)| broken(*seen));
    let charged = |name: &str| proofs.iter().any(|proof| proof.breaks.contains(name));
    names.map(|(subject, _)| subject.name.clone()).filter(|name| !charged(name)).collect()
}

/// What a fix does to a subject on a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    Fixes,
    Leaves,
    Breaks,
}

/// The effect of a fix by what becomes of the subject in each set, and whether the set has the fix.
fn effect(turns: &[(bool, Turn)], is_its_own: bool) -> Option<Effect> {
    let with = |has_fix: bool| turns.iter().filter(move |(has, _)| *has == has_fix).map(|(_, turn)| *turn);
    let exactly_there = |turn: Turn| turns.iter().all(|(has, own)| (*own == turn) == *has);
    match () {
        () if exactly_there(Turn::Broken) => Some(Effect::Breaks),
        // Another fix may fix its own, too.
        () if exactly_there(Turn::Fixed) || is_its_own && with(true).all(|turn| turn == Turn::Fixed) => {
            Some(Effect::Fixes)
        }
        () if is_its_own && with(true).any(|turn| turn == Turn::Left) => Some(Effect::Leaves),
        () => None,
    }
}

/// True if a cause other than `name` explains that the subject fails as `signature` on `device`.
fn has_another(causes: &[RootCause], name: &str, subject: &Subject, device: Device, signature: &Signature) -> bool {
    let sighting = Sighting { signature, case: &subject.kept.case, devices: vec![device], candle: None };
    shown(causes, &sighting).is_some_and(|cause| cause.name != name)
}

/// What becomes of a subject that failed in the ways `before`, and now fails in the ways `new` on `device`. Of these, `is_another` says
/// which have a cause of their own.
fn turn(
    subject: &Subject,
    before: &Failing,
    device: Device,
    new: &[Signature],
    is_another: impl Fn(&Signature) -> bool,
) -> Turn {
    let old = before.get(&device).map_or(&[][..], |old| old);
    let own = subject.kept.signature.as_ref().map(Signature::on_one_device);
    let Some(own) = own.filter(|own| old.contains(own)) else {
        return if old.is_empty() && !new.is_empty() { Turn::Broken } else { Turn::Nothing };
    };
    // Something else may come to light behind it, unless it was there on some device, is a limit behind something worse, or has a cause
    // of its own, such as an id that is not refused once the kernel skips it.
    let was_there = |other: &Signature| before.values().flatten().any(|before| before.is_alike(other));
    let is_worse = |other: &Signature| other.rank() < Rank::Limit || own.rank() == Rank::Limit;
    let remains = |other: &Signature| own.is_alike(other) || is_worse(other) && !was_there(other) && !is_another(other);
    if new.iter().any(remains) { Turn::Left } else { Turn::Fixed }
}
