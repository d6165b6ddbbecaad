//! What a fuzzing session steps over: failures that are no news, and calls that are known to end the process.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use anyhow::Context;

use crate::case::{Case, Param};
use crate::ops::{self, Contract, Op, sequence};
use crate::outcome::Outcome;
use crate::store::Finding;
use crate::tensor::DType;

/// What is stepped over, so that exploration goes on behind it.
#[derive(Debug, Clone, Default)]
pub struct Known {
    /// Failures that are no news, by the slugs of their signatures.
    slugs: HashSet<String>,
    /// Which calls are known to end or block the process that runs them, by op: they are not run here.
    fatal: HashSet<(String, Danger)>,
}

/// Which calls of an op are alike in that they may end the process.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Danger {
    /// Valid ones of a dtype.
    Dtype(Option<DType>),
    /// Those that break a rule, or of which nothing is promised for a reason.
    Rule(&'static str),
}

impl Danger {
    fn of(op: &Op, case: &Case) -> Self {
        match (op.contract)(case) {
            Contract::Accepts { .. } => Self::Dtype(op.dtype(case)),
            Contract::Rejects(rule) | Contract::Unspecified(rule) => Self::Rule(rule),
        }
    }
}

impl Known {
    /// Steps over what `finding` shows.
    pub fn add(&mut self, finding: &Finding) {
        self.slugs.insert(finding.signature.slug());
        let ends = |outcome: &Outcome| outcome.lost_the_process() && !matches!(outcome, Outcome::Faulted(_));
        if finding.observations.iter().any(|seen| ends(&seen.outcome)) {
            self.add_fatal(&finding.case);
        }
    }

    /// Steps over failures whose signature has this slug.
    pub fn add_slug(&mut self, slug: String) {
        self.slugs.insert(slug);
    }

    /// Runs no call like `case` again.
    pub fn add_fatal(&mut self, case: &Case) {
        let danger = ops::find(&case.op).map(|op| Danger::of(op, case));
        self.fatal.extend(danger.map(|danger| (case.op.clone(), danger)));
    }

    /// Also steps over what a session before this one left in `artifacts`, and what ended it.
    pub fn add_artifacts(&mut self, artifacts: &Path) -> anyhow::Result<()> {
        if !artifacts.is_dir() {
            return Ok(());
        }
        for entry in fs::read_dir(artifacts).with_context(|| format!("cannot read {}", artifacts.display()))? {
            let path = entry?.path();
            let is_kept = path.extension().is_some_and(|extension| extension == "toml");
            match path.file_stem().and_then(|stem| stem.to_str()) {
                Some(slug) if is_kept => self.add_slug(slug.to_string()),
                // libFuzzer names what it kept by what ended it.
                _ => fs::read_to_string(&path).ok().and_then(|text| Case::parse(&text).ok()).iter().for_each(|case| {
                    self.add_fatal(case);
                }),
            }
        }
        Ok(())
    }

    /// Whether a failure whose signature has this slug is news; from now on it is not.
    pub(super) fn is_new(&mut self, slug: String) -> bool {
        self.slugs.insert(slug)
    }

    /// How many failures there are.
    pub fn count(&self) -> usize {
        self.slugs.len()
    }

    /// Whether some call of `case` is known to end the process.
    pub(super) fn is_fatal(&self, op: &Op, case: &Case) -> bool {
        let names = |dtype: DType| {
            let by_param = case.params.values().any(|param| *param == Param::from(dtype.name()));
            by_param || case.inputs.values().any(|tensor| tensor.dtype == dtype)
        };
        // Nobody knows which dtype reaches a step, but it must be in the case.
        let may = |danger: &Danger| !matches!(danger, Danger::Dtype(Some(dtype)) if !names(*dtype));
        let fatal = |op: &str| self.fatal.iter().any(|(name, danger)| name == op && may(danger));
        let steps = sequence::steps(case);
        if steps.is_empty() {
            return self.fatal.contains(&(op.name.to_string(), Danger::of(op, case)));
        }
        steps.iter().any(|(op, _)| fatal(op.name))
    }
}
