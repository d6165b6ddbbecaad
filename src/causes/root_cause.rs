//! A root cause: one mistake of candle that explains many failures, with its fix and the proof of it.

use std::path::Path;
use std::sync::LazyLock;

use serde::Deserialize;

use super::folder::{self, Files};
use super::{Fix, Predicate, Proof, Sighting, Since, any_holds, parsed};
use crate::case::Case;
use crate::device::Device;
use crate::ops::Op;
use crate::oracle::Rank;
use crate::store::Finding;

/// The causes of this build.
static OWN: LazyLock<Vec<RootCause>> =
    LazyLock::new(|| sorted(folder::own().into_iter().map(RootCause::parse)).expect("`tests/it/causes.rs` reads them"));

/// One mistake of candle.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RootCause {
    /// The name of its folder, which its title makes.
    #[serde(skip)]
    pub name: String,
    /// What is wrong, as the title of an issue.
    pub title: String,
    /// How bad the worst of it is.
    pub rank: Rank,
    /// Where it is: files and functions of candle, such as `candle-core/src/conv.rs ParamsConv1D::l_out`.
    pub at: Vec<String>,
    /// What goes wrong there, and why.
    pub explanation: String,
    /// A failure for which one of these holds has this cause.
    pub shown_by: Vec<Predicate>,
    /// Issues and pull requests of candle about it.
    #[serde(default)]
    pub upstream: Vec<String>,
    /// What PyTorch does instead.
    #[serde(default)]
    pub pytorch: Option<String>,
    /// What a user can do until it is mended.
    #[serde(default)]
    pub workaround: Option<String>,
    /// The layers and models that run into it.
    #[serde(default)]
    pub affected: Vec<String>,
    /// Edits of candle that mend it.
    #[serde(skip)]
    pub fix: Option<Fix>,
    /// What was seen with the fix.
    #[serde(skip)]
    pub proof: Option<Proof>,
    /// Since which release it is there.
    #[serde(skip)]
    pub since: Option<Since>,
}

impl RootCause {
    /// The causes of this build, the worst first.
    pub fn own() -> &'static [Self] {
        &OWN
    }

    /// The cause of this build that explains `finding`.
    pub fn of(finding: &Finding) -> Option<&'static Self> {
        explain(Self::own(), &Sighting::of(finding)).ok().flatten()
    }

    /// The causes in the nearest folder, or else those of this build, the worst first. A mistake is one line.
    pub fn all() -> Result<Vec<Self>, String> {
        match folder::folder() {
            Some(folder) => Self::read(&folder),
            None => sorted(folder::own().into_iter().map(Self::parse)),
        }
    }

    /// The causes in `folder`, the worst first.
    pub fn read(folder: &Path) -> Result<Vec<Self>, String> {
        let files = folder::read(folder).map_err(|error| format!("cannot read {}: {error}", folder.display()))?;
        sorted(files.into_iter().map(Self::parse)).map_err(|problem| format!("{}/{problem}", folder.display()))
    }

    fn parse(files: Files) -> Result<Self, String> {
        let Files { name, cause, fix, proof, since } = files;
        let in_file = |what: &str, problem: String| format!("{name}/{what}.toml: {problem}");
        let mut cause: Self = parsed(&cause).map_err(|problem| in_file("cause", problem))?;
        cause.fix = fix.map(|text| parsed(&text)).transpose().map_err(|problem| in_file("fix", problem))?;
        cause.proof = proof.map(|text| parsed(&text)).transpose().map_err(|problem| in_file("proof", problem))?;
        cause.since = since.map(|text| parsed(&text)).transpose().map_err(|problem| in_file("since", problem))?;
        cause.name = name;
        Ok(cause)
    }

    /// Whether a predicate says that it is the cause of `sighting`. An error is a predicate that speaks of what the op does not have.
    pub fn is_shown_by(&self, sighting: &Sighting) -> Result<bool, String> {
        any_holds(&self.shown_by, sighting).map_err(|problem| format!("{}: {problem}", self.name))
    }

    /// Whether a call of `op` on `device` may run into it, as far as its dtypes, layouts, sizes and params show.
    pub fn may_meet(&self, op: &Op, case: &Case, device: Device) -> bool {
        self.shown_by.iter().any(|predicate| predicate.may_hold(op, case, device))
    }

    /// Whether what is kept of its fix shows that it mends all that this explains, and breaks nothing.
    pub fn is_proven(&self) -> bool {
        self.fix.is_some() && self.proof.as_ref().is_some_and(Proof::holds)
    }

    /// Whether its fix was seen to mend the failure of this name.
    fn mends(&self, failure: &str) -> bool {
        self.proof.as_ref().is_some_and(|proof| proof.mends.contains(failure))
    }
}

fn sorted(causes: impl Iterator<Item = Result<RootCause, String>>) -> Result<Vec<RootCause>, String> {
    let mut all = causes.collect::<Result<Vec<_>, _>>()?;
    all.sort_by(|one, other| (one.rank, &one.name).cmp(&(other.rank, &other.name)));
    Ok(all)
}

/// The cause of `sighting`. If fixes were seen to mend it, it is the one of their causes of which a predicate says so, or else their first;
/// without a fix, the first cause of all of which a predicate says so. A cause whose proven fix the candle has is none of them.
pub fn explain<'a>(causes: &'a [RootCause], sighting: &Sighting) -> Result<Option<&'a RootCause>, String> {
    let failure = sighting.signature.slug();
    let is_mended =
        |cause: &RootCause| cause.is_proven() && sighting.candle.is_some_and(|candle| candle.has_fix_of(&cause.name));
    let open: Vec<&RootCause> = causes.iter().filter(|cause| !is_mended(cause)).collect();
    let proven: Vec<&RootCause> = open.iter().copied().filter(|cause| cause.mends(&failure)).collect();
    match proven.first() {
        Some(first) => Ok(shown(proven.iter().copied(), sighting)?.or(Some(first))),
        None => shown(open, sighting),
    }
}

/// The first of `causes` of which a predicate says that it is the cause of `sighting`.
pub fn shown<'a>(
    causes: impl IntoIterator<Item = &'a RootCause>,
    sighting: &Sighting,
) -> Result<Option<&'a RootCause>, String> {
    for cause in causes {
        if cause.is_shown_by(sighting)? {
            return Ok(Some(cause));
        }
    }
    Ok(None)
}
