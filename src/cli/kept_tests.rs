//! Tests for candle's own suite of what regressions keep.

use crate::causes::{KnownFailures, RootCause, Sighting};
use crate::device::Device;
use crate::examine::{Examined, Patience, examine};
use crate::exec::{Executor, Limits, default_devices};
use crate::ops;
use crate::oracle::Evidence;
use crate::program::{Test, test};
use crate::store::regression::Regression;

/// The regressions, and workers that run them.
pub struct KeptTests<'a> {
    known: &'a KnownFailures,
    executor: Executor,
}

impl<'a> KeptTests<'a> {
    /// Starts a worker for each device that is built.
    pub fn start(known: &'a KnownFailures) -> anyhow::Result<Self> {
        Ok(Self { known, executor: Executor::start(&default_devices(), &Limits::default().into())? })
    }

    /// A test that fails because of `cause`, and passes with its fix, of the regression that shows it best and has one; `None` if none has.
    pub fn of(&mut self, cause: &RootCause) -> anyhow::Result<Option<Test>> {
        let shows_the_fix = |kept: &Regression| {
            Sighting::kept(kept).is_some_and(|failure| cause.passes_once_fixed(&failure.signature.slug()))
        };
        for (_, kept) in self.known.regressions_of(cause).into_iter().filter(|(_, kept)| shows_the_fix(kept)) {
            if let Some(test) = test_of(&mut self.executor, kept)? {
                return Ok(Some(cause.own_test(test)));
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
