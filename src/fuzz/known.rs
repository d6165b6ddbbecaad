//! What a fuzzing session skips: known failures, and calls that are known to end the process.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use anyhow::Context;

use crate::case::{Case, Param};
use crate::ops::{self, Contract, Op, sequence};
use crate::outcome::Outcome;
use crate::store::Finding;
use crate::tensor::DType;

/// Known failures and fatal calls, which are skipped so that fuzzing can get past them.
#[derive(Debug, Clone, Default)]
pub struct Known {
    /// The slugs of the signatures of known failures.
    slugs: HashSet<String>,
    /// The op and danger of calls that are known to end or block the process. They are not run.
    fatal: HashSet<(String, Danger)>,
}

/// Which calls of an op may end the process.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Danger {
    /// Valid calls of a dtype.
    Dtype(Option<DType>),
    /// Calls that break this rule, or that are unspecified for this reason.
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
    /// Skips the failure of `finding`, and calls like its own if they end the process.
    pub fn add(&mut self, finding: &Finding) {
        self.slugs.insert(finding.signature.slug());
        let ends = |outcome: &Outcome| outcome.lost_the_process() && !matches!(outcome, Outcome::Faulted(_));
        if finding.observations.iter().any(|seen| ends(&seen.outcome)) {
            self.add_fatal(&finding.case);
        }
    }

    /// Skips failures whose signature has this slug.
    pub fn add_slug(&mut self, slug: String) {
        self.slugs.insert(slug);
    }

    /// Skips calls like `case`.
    pub fn add_fatal(&mut self, case: &Case) {
        let danger = ops::find(&case.op).map(|op| Danger::of(op, case));
        self.fatal.extend(danger.map(|danger| (case.op.clone(), danger)));
    }

    /// Skips the failures that earlier sessions left in `artifacts`, and the calls that ended them.
    pub fn add_artifacts(&mut self, artifacts: &Path) -> anyhow::Result<()> {
        if !artifacts.is_dir() {
            return Ok(());
        }
        for entry in fs::read_dir(artifacts).with_context(|| format!("cannot read {}", artifacts.display()))? {
            let path = entry?.path();
            let is_kept = path.extension().is_some_and(|extension| extension == "toml");
            match path.file_stem().and_then(|stem| stem.to_str()) {
                Some(slug) if is_kept => self.add_slug(slug.to_string()),
                // libFuzzer saved this input, under the name of the event that ended it.
                _ => fs::read_to_string(&path).ok().and_then(|text| Case::parse(&text).ok()).iter().for_each(|case| {
                    self.add_fatal(case);
                }),
            }
        }
        Ok(())
    }

    /// Whether a failure with this slug is new. Remembers it.
    pub(super) fn is_new(&mut self, slug: String) -> bool {
        self.slugs.insert(slug)
    }

    /// How many failures are known.
    pub fn count(&self) -> usize {
        self.slugs.len()
    }

    /// Whether some call of `case` is known to end the process.
    pub(super) fn is_fatal(&self, op: &Op, case: &Case) -> bool {
        let contains = |dtype: DType| {
            let by_param = case.params.values().any(|param| *param == Param::from(dtype.name()));
            by_param || case.inputs.values().any(|tensor| tensor.dtype == dtype)
        };
        // It is unknown which dtype reaches a step, but the case must contain it.
        let applies = |danger: &Danger| !matches!(danger, Danger::Dtype(Some(dtype)) if !contains(*dtype));
        let fatal = |op: &str| self.fatal.iter().any(|(name, danger)| name == op && applies(danger));
        let steps = sequence::steps(case);
        if steps.is_empty() {
            return self.fatal.contains(&(op.name.to_string(), Danger::of(op, case)));
        }
        steps.iter().any(|(op, _)| fatal(op.name))
    }
}
