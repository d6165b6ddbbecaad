//! Runs beside a case of an op that a program defines: samples of its batch alone, and a few steps of training.

use super::Worker;
use crate::case::Case;
use crate::ops::own;
use crate::outcome::{Observation, Outcome, Training};

/// Adds to `seen`, an observation of `case`, what its definition promises more.
pub fn add(worker: &mut Worker, case: &Case, seen: &mut Observation) -> anyhow::Result<()> {
    if !matches!(seen.outcome, Outcome::Returned(_)) {
        return Ok(());
    }
    for sample in own::samples(case) {
        seen.samples.push(worker.run_once(&sample.case)?);
    }
    if let (true, Some(training)) = (seen.outcome.has_gradients(), own::of_training(case)) {
        let answer = worker.run(&training)?;
        seen.training = Some(Training { outcome: answer.outcome, again: answer.again });
    }
    Ok(())
}
