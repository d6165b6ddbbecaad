//! Finds since which release of candle causes are there, by how the failures that show them fail with each release.

use std::sync::Arc;

use semver::Version;

use super::Subject;
use super::seen::{Failing, Seen};
use crate::causes::{RootCause, Sighting, Since};
use crate::device::Device;
use crate::exec::CandleUnderTest;

/// How each subject fails with a release.
#[derive(Debug)]
pub struct TriedRelease {
    /// The release.
    pub version: Version,
    /// `None` is the release under test.
    pub candle: Option<Arc<CandleUnderTest>>,
    /// What was seen with it.
    pub seen: Seen,
}

impl TriedRelease {
    fn lacks(&self, subject: &Subject) -> bool {
        self.candle.as_ref().is_some_and(|candle| candle.lacks(&subject.kept.case).is_some())
    }
}

/// Since which of `releases`, oldest first, `cause` is there on `device`. `None` if the newest does not show it.
pub fn since(cause: &RootCause, subjects: &[Subject], releases: &[TriedRelease], device: Device) -> Option<Since> {
    let its = |subject: &Subject| subject.causes.get(&device).is_some_and(|own| *own == cause.name);
    let showing = |release: &TriedRelease| -> Vec<usize> {
        let shows = |number: &usize| {
            its(&subjects[*number]) && is_shown(cause, &subjects[*number], &release.seen[*number], device)
        };
        (0..subjects.len()).filter(shows).collect()
    };
    let shown: Vec<Vec<usize>> = releases.iter().map(showing).collect();
    let first = shown.iter().rposition(Vec::is_empty).map_or(0, |absent| absent + 1);
    let by = shown.get(first)?;
    let before = first.checked_sub(1).map(|before| &releases[before]);
    Some(Since {
        release: releases[first].version.clone(),
        before: before.map(|before| before.version.clone()),
        is_lacking: before.is_some_and(|before| by.iter().all(|&number| before.lacks(&subjects[number]))),
        device,
        failure: subjects[by[0]].name.clone(),
    })
}

/// Whether `subject` fails on `device` as it is kept, or in another way that `cause` explains.
fn is_shown(cause: &RootCause, subject: &Subject, seen: &Failing, device: Device) -> bool {
    let kept = &subject.kept;
    seen.get(&device).into_iter().flatten().any(|signature| {
        let sighting = Sighting { signature, case: &kept.case, devices: vec![device], candle: None };
        kept.signature.as_ref().is_some_and(|own| own.on_one_device().is_alike(signature))
            || cause.is_shown_by(&sighting)
    })
}
