//! Compares two candles: runs the same cases with both, most of them of ops that may run changed code, and keeps what differs.

mod order;
mod pair;
mod reach;
mod settling;
mod status;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::case::Case;
use crate::device::Device;
use crate::exec::{WorkerSpec, pool};
use crate::ops::{Contract, Op, find, why};
use crate::oracle::Change;
use crate::report::changed;
use crate::settle::Claims;
use crate::store::regression::Regression;

use pair::Pair;

pub use order::Order;
pub use pair::{Both, Side};
pub use reach::{FAR, Reach, reaches};
pub use status::Turned;

/// What is compared, and how.
#[derive(Debug)]
pub struct Plan {
    /// The order of the ops' cases.
    pub order: Order,
    /// Regressions, which run before drawn cases.
    pub regressions: Vec<(String, Regression)>,
    /// The devices. Every case runs on all of them.
    pub devices: Vec<Device>,
    /// Decides every case.
    pub seed: u64,
    /// At most this many drawn cases.
    pub cases: Option<u64>,
    /// At most this long. A minimization in progress is finished first.
    pub time: Option<Duration>,
    /// Threads, each with workers of both candles.
    pub jobs: usize,
    /// The workers of the base and of the head: their candles differ.
    pub specs: [WorkerSpec; 2],
    /// How long one difference may be minimized.
    pub minimize: Duration,
}

/// A difference of the two candles, in a minimized case.
#[derive(Debug)]
pub struct Difference {
    /// What changes.
    pub change: Change,
    /// The case.
    pub case: Case,
    /// What both do with it.
    pub seen: Both,
    /// Whether no simpler case shows it, as far as the minimizer can tell.
    pub minimal: bool,
    /// How many cases had run with both when it was first seen, that one included.
    pub after_cases: u64,
}

impl Difference {
    /// Its place in a list with the worst first, which is the same whichever thread was done first.
    fn place(&self) -> impl Ord + use<> {
        let Change { class, signature, .. } = &self.change;
        // Oracles are declared in order of authority.
        let broken = signature.as_ref().map(|signature| (signature.rank(), signature.oracle as u8));
        (*class, broken, changed(&self.case.op, &self.change), self.case.to_text())
    }
}

/// The result of a comparison.
#[derive(Debug, Default)]
pub struct Compared {
    /// The differences, each once, the worst first.
    pub differences: Vec<Difference>,
    /// The regressions that turned.
    pub turned: Vec<Turned>,
    /// How many cases ran with both.
    pub cases: u64,
    /// Changes that did not show in new processes every time, in sentences.
    pub unsteady: BTreeSet<String>,
    /// Cases that made this suite panic.
    pub broken: u64,
    /// How long it took.
    pub seconds: f64,
}

/// State that the threads share.
struct Shared<'a> {
    plan: &'a Plan,
    stop: &'a AtomicBool,
    started: Instant,
    next: AtomicU64,
    claims: Claims<Change>,
    compared: Mutex<Compared>,
    on_difference: &'a (dyn Fn(&Difference) + Sync),
}

/// Compares by `plan` until it is done or `stop` is set.
pub fn compare(
    plan: &Plan,
    stop: &AtomicBool,
    on_difference: &(dyn Fn(&Difference) + Sync),
) -> anyhow::Result<Compared> {
    let (claims, compared) = (Claims::default(), Mutex::default());
    let next = AtomicU64::new(0);
    let shared = Shared { plan, stop, started: Instant::now(), next, claims, compared, on_difference };
    pool::each(
        plan.jobs,
        || shared.claim(),
        || Pair::start(plan),
        |pair, index| shared.run(pair, index).map(|()| None::<()>),
        Pair::finish,
    )?;
    let mut compared = shared.compared.into_inner().unwrap_or_else(PoisonError::into_inner);
    compared.seconds = shared.started.elapsed().as_secs_f64();
    compared.differences.sort_by_cached_key(Difference::place);
    compared.turned.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(compared)
}

impl Shared<'_> {
    fn compared(&self) -> MutexGuard<'_, Compared> {
        self.compared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next index; `None` when the comparison is over. Regressions run whatever the time.
    fn claim(&self) -> Option<u64> {
        let index = self.next.fetch_add(1, Ordering::Relaxed);
        let drawn = index.checked_sub(self.plan.regressions.len() as u64);
        let is_late = self.plan.time.is_some_and(|time| self.started.elapsed() >= time);
        let is_over = |drawn: u64| is_late || self.plan.cases.is_some_and(|cases| drawn >= cases);
        (!self.stop.load(Ordering::Relaxed) && !drawn.is_some_and(is_over)).then_some(index)
    }

    /// Runs the case at `index`.
    fn run(&self, pair: &mut Pair, index: u64) -> anyhow::Result<()> {
        let regressions = &self.plan.regressions;
        let ran = pool::caught(|| match regressions.get(index as usize) {
            Some((name, kept)) => match find(&kept.case.op) {
                Some(op) => self.examine(pair, op, &kept.case, Some((name, kept))),
                None => Ok(()),
            },
            None => {
                let sample = self.plan.order.sample(self.plan.seed, index - regressions.len() as u64);
                self.examine(pair, sample.op, &sample.drawn.case, None)
            }
        })?;
        self.compared().broken += u64::from(ran.is_none());
        Ok(())
    }

    /// Runs a case with both, and settles each change in it.
    fn examine(
        &self,
        pair: &mut Pair,
        op: &'static Op,
        case: &Case,
        kept: Option<(&String, &Regression)>,
    ) -> anyhow::Result<()> {
        let is_lacking = |spec: &WorkerSpec| spec.lacks(case).is_some();
        if self.plan.specs.iter().any(is_lacking) || op.contract(case) == Contract::Unspecified(why::TOO_LARGE) {
            return Ok(());
        }
        let seen = pair.observe(case)?;
        let turned = kept.map_or_else(Vec::new, |(name, kept)| Turned::of(name, kept, op, &seen));
        let after_cases = {
            let mut compared = self.compared();
            compared.cases += 1;
            compared.turned.extend(turned);
            compared.cases
        };
        for change in pair::between(op, case, &seen[0], &seen[1]) {
            self.settle(pair, op, case, &change, after_cases)?;
        }
        Ok(())
    }
}
