//! Finds the release of candle that introduced the behaviour of a case: builds and runs the case's program with several.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, bail};
use schemars::JsonSchema;
use serde::Serialize;

use crate::case::Case;
use crate::device::Device;
use crate::exec::{Deadline, Executor, WorkerSpec, reproduction};
use crate::ops::Op;
use crate::oracle::{Evidence, Verdict, judge};
use crate::outcome::Outcome;
use crate::program::{Candle, ProgramOptions, agrees, manifest, outputs, program};
use crate::store::keep_program;

/// The releases of candle that current compilers can build, oldest first.
pub const RELEASES: [&str; 13] = [
    "0.8.0", "0.8.1", "0.8.2", "0.8.3", "0.8.4", "0.9.0", "0.9.1", "0.9.2", "0.10.0", "0.10.1", "0.10.2", "0.11.0",
    "0.11.1",
];

/// The parameters of a bisection.
#[derive(Debug, Clone, Copy)]
pub struct Releases<'a> {
    /// The releases, oldest first. A path is a checkout of candle's repository.
    pub versions: &'a [String],
    /// Whether to try every release instead of bisecting.
    pub all: bool,
    /// The device to run on.
    pub device: Device,
    /// The target folder, which keeps earlier builds.
    pub target: &'a Path,
    /// The worker of today, and the limits of programs.
    pub spec: &'a WorkerSpec,
}

/// The result of a bisection.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Bisection {
    /// The outcome of the case today, in a line.
    pub today: String,
    /// Whether that outcome is a violation.
    pub fails: bool,
    /// The releases that were tried, in order.
    pub tried: Vec<TriedRelease>,
    /// The oldest tested release that matches today's behaviour; null if not even the newest matches it.
    pub since: Option<String>,
    /// The release before it; null if it is the oldest.
    pub before: Option<String>,
}

/// The behaviour of one release.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct TriedRelease {
    /// The release, or the path of a checkout.
    pub version: String,
    /// How it compares with today.
    pub behaviour: Behaviour,
    /// What it does instead; empty if it behaves the same.
    pub what: String,
}

/// How the behaviour of a release compares with today.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Behaviour {
    /// The same as today.
    Same,
    /// Different from today.
    Other,
    /// None: the release lacks the call.
    Lacks,
}

impl std::fmt::Display for TriedRelease {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let what = &self.what;
        match self.behaviour {
            Behaviour::Same => f.write_str("the same"),
            Behaviour::Other => write!(f, "something else: {what}"),
            Behaviour::Lacks => write!(f, "it lacks something that the call uses: {what}"),
        }
    }
}

impl std::fmt::Display for Bisection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let verb = if self.fails { "fails" } else { "as today" };
        let lacks =
            |version: &String| self.tried.iter().any(|it| it.version == *version && it.behaviour == Behaviour::Lacks);
        match (&self.since, &self.before) {
            (None, _) => f.write_str("the newest of these already behaves differently from the candle under test"),
            (Some(since), None) => write!(f, "{verb} since {since} or an earlier release"),
            (Some(since), Some(before)) if lacks(before) => {
                write!(f, "{verb} since {since}; {before} lacks something that the call uses")
            }
            (Some(since), Some(before)) => write!(f, "{verb} since {since}; {before} does something else"),
        }
    }
}

/// Bisects `case` over `releases` and calls `on_release` after each. Agreement with later releases does not prove the
/// behaviour right, so the result includes the verdict. The inner `Err` says why the case has no program to try.
pub fn bisect(
    op: &'static Op,
    case: &Case,
    releases: Releases,
    on_release: impl FnMut(&TriedRelease),
) -> anyhow::Result<Result<Bisection, String>> {
    let observations = Executor::start(&[releases.device], releases.spec)?.observe(case, Deadline::Full)?;
    let verdict = judge(&Evidence::new(op, case, &observations));
    let today = &observations[0].outcome;
    let options = ProgramOptions { device: releases.device, comments: &[], outputs: &outputs(today) };
    let text = match program(op, case, &options) {
        Ok(text) => text,
        Err(why) => return Ok(Err(why)),
    };
    let mut runner = Runner { releases, case, text, today, tried: BTreeMap::new(), on_release };
    let first = runner.oldest_match()?;
    let before = first.and_then(|first| first.checked_sub(1));
    let version = |index: usize| releases.versions[index].clone();
    Ok(Ok(Bisection {
        today: today.summary(),
        fails: matches!(verdict, Verdict::Fail(_)),
        tried: runner.tried.into_values().collect(),
        since: first.map(version),
        before: before.map(version),
    }))
}

struct Runner<'a, T> {
    releases: Releases<'a>,
    case: &'a Case,
    text: String,
    today: &'a Outcome,
    tried: BTreeMap<usize, TriedRelease>,
    on_release: T,
}

impl<T: FnMut(&TriedRelease)> Runner<'_, T> {
    /// The index of the oldest tested release that matches today's behaviour.
    fn oldest_match(&mut self) -> anyhow::Result<Option<usize>> {
        let newest = self.releases.versions.len().checked_sub(1).context("no versions")?;
        if self.releases.all {
            (0..=newest).try_for_each(|index| self.is_as_today(index).map(drop))?;
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

    fn is_as_today(&mut self, index: usize) -> anyhow::Result<bool> {
        if let Some(known) = self.tried.get(&index) {
            return Ok(known.behaviour == Behaviour::Same);
        }
        let version = self.releases.versions[index].clone();
        let (behaviour, what) = self.run(&version)?;
        let tried = TriedRelease { version, behaviour, what };
        (self.on_release)(&tried);
        self.tried.insert(index, tried);
        Ok(behaviour == Behaviour::Same)
    }

    /// Builds and runs the program with one release.
    fn run(&self, version: &str) -> anyhow::Result<(Behaviour, String)> {
        let Releases { device, spec, .. } = self.releases;
        let name: String =
            format!("candle-{version}").chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let target = std::path::absolute(self.releases.target)?;
        let folder = target.join("bisect").join(&name);
        let candle = if Path::new(version).is_dir() { Candle::Checkout(version) } else { Candle::Release(version) };
        keep_program(&folder, &manifest(&name, &self.text, device, candle), &self.text)?;
        if let Err(problem) = reproduction::build(&folder, &target) {
            let text = problem.to_string();
            // If candle compiles but the program does not, candle lacks the call.
            let lacks = text.contains(&format!("could not compile `{name}`"));
            match text.lines().find(|line| line.starts_with("error[")).filter(|_| lacks) {
                Some(line) => return Ok((Behaviour::Lacks, line.to_string())),
                None => bail!("cannot build with candle {version}: {text}"),
            }
        }
        let ran = reproduction::run(&reproduction::executable(&target, &name), &[], device, spec.limits)?;
        if agrees(self.case, self.today, &ran) {
            return Ok((Behaviour::Same, String::new()));
        }
        let last = ran.stderr.lines().chain(ran.stdout.lines()).next_back().unwrap_or_default();
        Ok((Behaviour::Other, last.to_string()))
    }
}
