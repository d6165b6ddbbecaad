//! Tests for candle's own suite of what regressions keep.

use super::KnownArg;
use crate::causes::{RootCause, Sighting, cause_of};
use crate::device::Device;
use crate::examine::{Examined, Patience, examine};
use crate::exec::{Executor, Limits, default_devices};
use crate::ops;
use crate::oracle::{Evidence, OracleName};
use crate::program::{Test, test};
use crate::store::regression::Regression;

/// The regressions, and workers that run them.
pub struct KeptTests<'a> {
    causes: &'a [RootCause],
    regressions: Vec<(String, Regression)>,
    executor: Executor,
}

impl<'a> KeptTests<'a> {
    /// Starts a worker for each device that is built.
    pub fn start(causes: &'a [RootCause], known: &KnownArg) -> anyhow::Result<Self> {
        let executor = Executor::start(&default_devices(), &Limits::default().into())?;
        Ok(Self { causes, regressions: known.regressions()?, executor })
    }

    /// A test that fails because of `cause`, of its plainest regression that has one; `None` if none has.
    pub fn of(&mut self, cause: &RootCause) -> anyhow::Result<Option<Test>> {
        let is_its = |kept: &&Regression| {
            let own = |failure: Sighting| cause_of(self.causes, &failure).is_some_and(|own| own.name == cause.name);
            Sighting::kept(kept).is_some_and(own)
        };
        let mut its: Vec<&Regression> = self.regressions.iter().map(|(_, kept)| kept).filter(is_its).collect();
        // A value that is wrong shows everywhere; a read outside a buffer shows nothing without a checker.
        let shows = |kept: &Regression| {
            let oracle = kept.signature.as_ref().map(|signature| signature.oracle);
            !matches!(oracle, Some(OracleName::Fault | OracleName::Checker))
        };
        its.sort_by_key(|kept| (!shows(kept), !cause.names(&kept.case.op), kept.case.complexity()));
        for kept in its {
            if let Some(test) = test_of(&mut self.executor, kept)? {
                return Ok(Some(test));
            }
        }
        Ok(None)
    }
}

/// A test that fails as `kept` does; `None` if there is none, or if it does not fail on these devices.
fn test_of(executor: &mut Executor, kept: &Regression) -> anyhow::Result<Option<Test>> {
    let (Some(op), Some(signature)) = (ops::find(&kept.case.op), &kept.signature) else { return Ok(None) };
    let Examined { verdict, observations } = examine(executor, op, &kept.case, Patience::Full)?;
    let evidence = Evidence::new(op, &kept.case, &observations);
    let is_it = |device: Device| {
        verdict.violations().iter().any(|found| found.device == device && found.oracle == signature.oracle)
    };
    let seen = observations.iter().find(|seen| is_it(seen.device));
    Ok(seen.and_then(|seen| test(&evidence, seen, signature.oracle).ok()))
}
