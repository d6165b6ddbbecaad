//! What a fuzzing session skips: known failures, and calls like those that ended the process.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::time::SystemTime;

use anyhow::Context;

use super::fatal::{End, Fatal};
use crate::case::Case;
use crate::ops::{self, Op};
use crate::outcome::Outcome;
use crate::store::Finding;

/// Known failures and fatal calls, which are skipped so that fuzzing can get past them.
#[derive(Debug, Clone, Default)]
pub struct Known {
    /// The slugs of the signatures of known failures.
    slugs: HashSet<String>,
    /// Calls that ended or blocked the process, and how many calls like each were not run.
    fatal: Vec<(Fatal, u64)>,
}

impl Known {
    /// Skips the failure of `finding`, and calls like its own if they end the process.
    pub fn add(&mut self, finding: &Finding) {
        self.slugs.insert(finding.signature.slug());
        let end = |outcome: &Outcome| match outcome {
            Outcome::TimedOut(_) => Some(End::Timeout),
            Outcome::OutOfMemory(_) => Some(End::Memory),
            Outcome::Died(_) | Outcome::StackOverflow(_) => Some(End::Crash),
            _ => None,
        };
        if let Some(end) = finding.observations.iter().find_map(|seen| end(&seen.outcome)) {
            self.add_fatal(&finding.case, end);
        }
    }

    /// Skips failures whose signature has this slug.
    pub fn add_slug(&mut self, slug: String) {
        self.slugs.insert(slug);
    }

    /// Skips calls like `case`, which ended the process.
    pub fn add_fatal(&mut self, case: &Case, end: End) {
        let Some(fatal) = ops::find(&case.op).map(|op| Fatal::new(op, case, end)) else { return };
        if self.fatal.iter().all(|(known, _)| *known != fatal) {
            self.fatal.push((fatal, 0));
        }
    }

    /// Skips the failures that earlier sessions left in `artifacts`, and calls like those that ended them, while that is believed
    /// `now`: after some days such a call is tried again.
    pub fn add_artifacts(&mut self, artifacts: &Path, now: SystemTime) -> anyhow::Result<()> {
        if !artifacts.is_dir() {
            return Ok(());
        }
        for entry in fs::read_dir(artifacts).with_context(|| format!("cannot read {}", artifacts.display()))? {
            let path = entry?.path();
            let is_kept = path.extension().is_some_and(|extension| extension == "toml");
            let Some(name) = path.file_stem().and_then(|name| name.to_str()) else { continue };
            if is_kept {
                self.add_slug(name.to_string());
                continue;
            }
            // libFuzzer saved this input, under the name of the event that ended it.
            let saved = || Some((fs::metadata(&path).ok()?.modified().ok()?, fs::read_to_string(&path).ok()?));
            let Some((date, text)) = saved() else { continue };
            let end = End::named(name);
            let is_old = now.duration_since(date).is_ok_and(|age| age > end.is_believed_for());
            if let Some(case) = Case::parse(&text).ok().filter(|_| !is_old) {
                self.add_fatal(&case, end);
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

    /// Which calls are not run, and how many of each there were so far.
    pub fn fatal(&self) -> impl Iterator<Item = (&Fatal, u64)> {
        self.fatal.iter().map(|(fatal, count)| (fatal, *count))
    }

    /// Whether some call of `case` is like one that ended the process. Counts it.
    pub(super) fn is_fatal(&mut self, op: &Op, case: &Case) -> bool {
        let known = self.fatal.iter_mut().find(|(fatal, _)| fatal.is_like(op, case));
        known.map(|(_, count)| *count += 1).is_some()
    }
}
