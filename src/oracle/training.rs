//! A few steps of gradient descent must stay finite, keep every gradient, and be the same in each run and on each device, where a
//! definition says that the call is trained. One backward pass is judged elsewhere.

use super::slack::{Slack, are_apart};
use super::{Evidence, Kind, Need, Needs, OracleName, Site, Verdict, contract, fail, fault};
use crate::ops::own;
use crate::outcome::{Observation, Outcome, Returned, Training, tensor_summary};
use crate::tensor::{DType, Tensor, sliced};

/// Larger numbers grow from step to step where the rate is too large for them.
const MODERATE: f64 = 16.0;

pub fn judge(evidence: &Evidence, seen: &Observation) -> Verdict {
    let Some(Training { outcome, again }) = &seen.training else { return Verdict::Skip("no training") };
    if seen.again.is_some() {
        return Verdict::Skip("its own runs differ");
    }
    let trained = Observation::new(seen.device, outcome.clone());
    match outcome {
        Outcome::Returned(_) => {}
        Outcome::Rejected(refusal) => {
            let detail = format!("expected Ok in each step of training; got Err: {}", refusal.message);
            let site = Site::Variant(refusal.variant.clone());
            return fail(OracleName::Training, Kind::RefusedValid, site, seen, detail);
        }
        Outcome::Faulted(_) => return fault::judge(evidence, &trained),
        // All steps together have the time of one call.
        Outcome::TimedOut(_) | Outcome::Unsupported(_) => return Verdict::Skip("training is not complete"),
        _ => return contract::judge(evidence, &trained),
    }
    if let Some(again) = again {
        let detail = format!("first {}; then {}", outcome.summary(), again.summary());
        return fail(OracleName::Training, Kind::Differs, Site::Call, seen, detail);
    }
    let Some(run) = Run::of(evidence, outcome) else { return Verdict::Skip("training is not complete") };
    if let Some(detail) = run.lost_gradient() {
        return fail(OracleName::Training, Kind::MissingGradient, Site::Call, seen, detail);
    }
    if evidence.any_value(|value| value.is_nan() || value.abs() > MODERATE) {
        return Verdict::Skip("numbers for which the rate may be too large");
    }
    if let Some(detail) = run.first_not_finite() {
        let site = Site::Needs(Needs::default().with(Need::NotFinite));
        return fail(OracleName::Training, Kind::WrongValue, site, seen, detail);
    }
    let first = &evidence.observations[0];
    let others = first.training.as_ref().filter(|_| first.device != seen.device);
    let Some(other) = others.and_then(|training| Run::of(evidence, &training.outcome)) else { return Verdict::Pass };
    let Some(slack) = Slack::of(evidence.case, run.dtype()) else { return Verdict::Pass };
    match other.first_difference(&run, &slack) {
        None => Verdict::Pass,
        Some(difference) => {
            let detail = format!("{} and {} differ: {difference}", first.device, seen.device);
            fail(OracleName::Training, Kind::WrongValue, Site::Needs(Needs::default()), seen, detail)
        }
    }
}

/// The steps of a training, as its op returned them.
struct Run<'a> {
    /// The loss of each step.
    losses: Vec<f64>,
    /// For each step and parameter, true if there was a gradient.
    has_gradient: Vec<bool>,
    /// The names of the parameters, and each as it was before each step.
    paths: Vec<(&'static str, &'a Tensor)>,
}

impl<'a> Run<'a> {
    fn of(evidence: &Evidence, outcome: &'a Outcome) -> Option<Self> {
        let Outcome::Returned(Returned { outputs, .. }) = outcome else { return None };
        let [losses, has_gradient, paths @ ..] = outputs.as_slice() else { return None };
        let names = own::parameters(evidence.op.name);
        let is_whole = has_gradient.shape == [losses.shape[0], names.len()] && paths.len() == names.len();
        is_whole.then(|| Self {
            losses: losses.floats(),
            has_gradient: has_gradient.ints().into_iter().map(|has| has != 0).collect(),
            paths: names.into_iter().zip(paths).collect(),
        })
    }

    fn dtype(&self) -> DType {
        self.paths.first().map_or(DType::F32, |(_, path)| path.dtype)
    }

    /// The parameters before a step.
    fn before(&self, step: usize) -> impl Iterator<Item = (&'static str, Tensor)> {
        self.paths.iter().map(move |(name, path)| (*name, sliced(path, 0, step, 1)))
    }

    fn is_moderate(&self, step: usize) -> bool {
        self.before(step).all(|(_, values)| values.floats().iter().all(|value| value.abs() <= MODERATE))
    }

    /// The first gradient that is missing, although the first step had it.
    fn lost_gradient(&self) -> Option<String> {
        let count = self.paths.len();
        let is_lost = |place: &usize| !self.has_gradient[*place] && self.has_gradient[place % count];
        let place = (0..self.has_gradient.len()).find(is_lost)?;
        let (name, step) = (self.paths[place % count].0, place / count + 1);
        Some(format!("step 1 has a gradient of {name}; step {step} has none"))
    }

    /// The first loss that is not finite, if the first step has a finite one and all parameters are moderate.
    fn first_not_finite(&self) -> Option<String> {
        let step = self.losses.iter().position(|loss| !loss.is_finite()).filter(|step| *step > 0)?;
        let shown: Vec<String> =
            self.before(step).map(|(name, values)| format!("{name} is {}", tensor_summary(&values))).collect();
        let [loss, before] = [self.losses[step], self.losses[step - 1]];
        let detail = format!("the loss is {before:?} in step {step} and {loss:?} in step {}; ", step + 1);
        self.is_moderate(step).then(|| detail + &shown.join("; "))
    }

    /// The largest change of a parameter in a step.
    fn stride(&self, step: usize) -> f64 {
        let changes = self.before(step).zip(self.before(step + 1)).flat_map(|((_, here), (_, next))| {
            here.floats().into_iter().zip(next.floats()).map(|(here, next)| (here - next).abs())
        });
        changes.fold(0.0, f64::max)
    }

    /// The first step whose loss or parameters are further apart than roundings of all steps so far explain. They grow as the steps do,
    /// so the comparison ends where steps get longer. It begins after the first step: that is one backward pass.
    fn first_difference(&self, other: &Self, slack: &Slack) -> Option<String> {
        let off = |step: usize| {
            let roundings = (step + 1) as f64;
            let losses = ("the loss", vec![self.losses[step]], vec![other.losses[step]]);
            let pairs = self.before(step).zip(other.before(step));
            let parameters = pairs.map(|((name, left), (_, right))| (name, left.floats(), right.floats()));
            std::iter::once(losses).chain(parameters).find_map(|(name, left, right)| {
                let largest = left.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
                let bound = roundings * slack.beside(largest);
                let place = left.iter().zip(&right).position(|(left, right)| are_apart(*left, *right, bound))?;
                let (left, right) = (left[place], right[place]);
                Some(format!("before step {}, {name}: element {place} is {left:?} and {right:?}", step + 1))
            })
        };
        let is_steady = |step: &usize| {
            let finite = self.losses[*step].is_finite() && other.losses[*step].is_finite();
            finite && self.is_moderate(*step) && self.stride(*step - 1) <= 2.0 * self.stride(0)
        };
        if self.losses.len() < 2 || off(1).is_some() {
            return None;
        }
        (2..self.losses.len()).take_while(is_steady).find_map(off)
    }
}
