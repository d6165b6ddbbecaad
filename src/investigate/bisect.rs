//! Since which release of candle a case does what it does today: its program is built and run with one after another.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, bail};
use schemars::JsonSchema;
use serde::Serialize;

use crate::case::Case;
use crate::device::Device;
use crate::exec::{Build, Deadline, Executor, Limits, reproduction};
use crate::ops::Op;
use crate::oracle::{Evidence, Verdict, judge};
use crate::outcome::Outcome;
use crate::program::{Candle, ProgramOptions, agrees, manifest, outputs, program};
use crate::store::keep_program;

/// Releases of candle that current compilers build, the oldest first.
pub const RELEASES: [&str; 13] = [
    "0.8.0", "0.8.1", "0.8.2", "0.8.3", "0.8.4", "0.9.0", "0.9.1", "0.9.2", "0.10.0", "0.10.1", "0.10.2", "0.11.0",
    "0.11.1",
];

/// Where and with what to bisect.
#[derive(Debug, Clone, Copy)]
pub struct Releases<'a> {
    /// Releases, the oldest first; a path is a checkout of candle's repository.
    pub versions: &'a [String],
    /// Whether to try every one instead of bisecting.
    pub all: bool,
    /// The device to run on.
    pub device: Device,
    /// Where programs are built; what was built once is kept there.
    pub target: &'a Path,
    /// What the program may use up.
    pub limits: Limits,
}

/// What came of a bisection.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Bisected {
    /// What the case does today, in a line.
    pub today: String,
    /// Whether that breaks a promise.
    pub fails: bool,
    /// The releases that were tried, in order.
    pub tried: Vec<Tried>,
    /// The first that does what is done today, as far as was tried; none where even the newest does something else than
    /// this build of snuffer.
    pub since: Option<String>,
    /// The release before it; none where it is the oldest.
    pub before: Option<String>,
}

/// What one release does.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Tried {
    /// The release, or the path of a checkout.
    pub version: String,
    /// How that compares with today.
    pub does: Does,
    /// What it does instead; empty where it is the same.
    pub what: String,
}

/// How a release compares with today.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Does {
    /// What candle does today.
    Same,
    /// Something else.
    Other,
    /// Nothing: it has no such call.
    Lacks,
}

impl std::fmt::Display for Tried {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let what = &self.what;
        match self.does {
            Does::Same => f.write_str("the same"),
            Does::Other => write!(f, "something else: {what}"),
            Does::Lacks => write!(f, "no such call: {what}"),
        }
    }
}

impl std::fmt::Display for Bisected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let does = if self.fails { "fails" } else { "as today" };
        let lacks = |version: &String| self.tried.iter().any(|it| it.version == *version && it.does == Does::Lacks);
        match (&self.since, &self.before) {
            (None, _) => f.write_str("the newest release does something else than this build of snuffer"),
            (Some(since), None) => write!(f, "{does} in {since} and since, perhaps longer"),
            (Some(since), Some(before)) if lacks(before) => {
                write!(f, "{does} since {since}; {before} has no such call")
            }
            (Some(since), Some(before)) => write!(f, "{does} since {since}; {before} does something else"),
        }
    }
}

/// Bisects `case` over `releases`, and tells of each that was tried. That a later release does the same does not say that it is
/// right; the verdict is part of the answer. The inner `Err` says why there is no program to try.
pub fn bisect(
    op: &'static Op,
    case: &Case,
    releases: Releases,
    tell: impl FnMut(&Tried),
) -> anyhow::Result<Result<Bisected, String>> {
    let observations =
        Executor::start(&[releases.device], Build::Checked, releases.limits)?.observe(case, Deadline::Full)?;
    let verdict = judge(&Evidence::new(op, case, &observations));
    let today = &observations[0].outcome;
    let options = ProgramOptions { device: releases.device, comments: &[], outputs: &outputs(today) };
    let text = match program(op, case, &options) {
        Ok(text) => text,
        Err(why) => return Ok(Err(why)),
    };
    let mut bisection = Bisection { releases, case, text, today, tried: BTreeMap::new(), tell };
    let first = bisection.first()?;
    let before = first.and_then(|first| first.checked_sub(1));
    let version = |place: usize| releases.versions[place].clone();
    Ok(Ok(Bisected {
        today: today.summary(),
        fails: matches!(verdict, Verdict::Fail(_)),
        tried: bisection.tried.into_values().collect(),
        since: first.map(version),
        before: before.map(version),
    }))
}

struct Bisection<'a, T> {
    releases: Releases<'a>,
    case: &'a Case,
    text: String,
    today: &'a Outcome,
    tried: BTreeMap<usize, Tried>,
    tell: T,
}

impl<T: FnMut(&Tried)> Bisection<'_, T> {
    /// The place of the oldest release from which on, as far as was tried, everything is as it is today.
    fn first(&mut self) -> anyhow::Result<Option<usize>> {
        let newest = self.releases.versions.len().checked_sub(1).context("no versions")?;
        if self.releases.all {
            (0..=newest).try_for_each(|place| self.is_as_today(place).map(drop))?;
        }
        if !self.is_as_today(newest)? {
            return Ok(None);
        }
        let (mut first, mut low) = (newest, 0);
        while low < first {
            let middle = usize::midpoint(low, first);
            if self.is_as_today(middle)? {
                first = middle;
            } else {
                low = middle + 1;
            }
        }
        Ok(Some(first))
    }

    fn is_as_today(&mut self, place: usize) -> anyhow::Result<bool> {
        if let Some(known) = self.tried.get(&place) {
            return Ok(known.does == Does::Same);
        }
        let version = self.releases.versions[place].clone();
        let (does, what) = self.tried(&version)?;
        let tried = Tried { version, does, what };
        (self.tell)(&tried);
        self.tried.insert(place, tried);
        Ok(does == Does::Same)
    }

    fn tried(&self, version: &str) -> anyhow::Result<(Does, String)> {
        let Releases { device, limits, .. } = self.releases;
        let name: String =
            format!("candle-{version}").chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let target = std::path::absolute(self.releases.target)?;
        let folder = target.join("bisect").join(&name);
        let candle = if Path::new(version).is_dir() { Candle::Checkout(version) } else { Candle::Release(version) };
        keep_program(&folder, &manifest(&name, &self.text, device, candle), &self.text)?;
        if let Err(problem) = reproduction::build(&folder, &target) {
            let text = problem.to_string();
            // Where candle compiles and the program does not, candle lacks what that calls.
            let lacks = text.contains(&format!("could not compile `{name}`"));
            match text.lines().find(|line| line.starts_with("error[")).filter(|_| lacks) {
                Some(line) => return Ok((Does::Lacks, line.to_string())),
                None => bail!("cannot build with candle {version}: {text}"),
            }
        }
        let ran = reproduction::run(&reproduction::executable(&target, &name), &[], device, limits)?;
        if agrees(self.case, self.today, &ran) {
            return Ok((Does::Same, String::new()));
        }
        let last = ran.stderr.lines().chain(ran.stdout.lines()).next_back().unwrap_or_default();
        Ok((Does::Other, last.to_string()))
    }
}
