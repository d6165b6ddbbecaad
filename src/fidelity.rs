//! Fidelity: how far the simulated device agrees with hardware. The same cases run on both, and their outcomes are compared bit by
//! bit, without any contract.

mod canary;
mod difference;
mod disagreement;
mod envelope;
mod judge;
mod latitude;
mod pair;
mod plan;
mod report;
mod simulated;
mod tally;
mod text;
mod values;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::exec::pool;
use crate::settle::Claims;

pub use canary::missed;
pub use difference::{Difference, Element, compare, hex, parts};
pub use disagreement::Disagreement;
pub use envelope::Envelope;
pub use judge::{Judged, Standing, judge};
pub use latitude::{Error, LATITUDES, Latitude};
pub use pair::{Both, Pair};
pub use plan::{Item, Plan};
pub use report::{Fidelity, Side};
pub use simulated::{Simulated, as_large_as};
pub use tally::{Ends, Row, Tally};
pub use text::{markdown, text};
pub use values::{Values, bits, ulps, value};

use disagreement::Key;

/// What threads share.
struct Shared<'a> {
    plan: &'a Plan,
    stop: &'a AtomicBool,
    started: Instant,
    next: AtomicU64,
    claims: Claims<Key>,
    state: Mutex<State>,
    on_case: &'a (dyn Fn(&str) + Sync),
}

#[derive(Default)]
struct State {
    tally: Tally,
    sides: Vec<Side>,
    disagreements: Vec<Disagreement>,
}

/// Runs `plan` until it is done or `stop` is set. Calls `on_case` with the op of each case. Returns what was seen, and the error
/// that ended it early, if one did.
pub fn run(
    plan: &Plan,
    stop: &AtomicBool,
    on_case: &(dyn Fn(&str) + Sync),
) -> anyhow::Result<(Fidelity, anyhow::Result<()>)> {
    let next = AtomicU64::new(plan.first);
    let (claims, state) = (Claims::default(), Mutex::default());
    let shared = Shared { plan, stop, started: Instant::now(), next, claims, state, on_case };
    let ended = pool::each(
        plan.jobs,
        || shared.claim(),
        || shared.pair(),
        |pair, index| shared.run(pair, index).map(|()| None::<()>),
        |_| Ok(()),
    );
    let seconds = shared.started.elapsed().as_secs_f64();
    let next = shared.next.load(Ordering::Relaxed);
    let state = shared.state.into_inner().unwrap_or_else(PoisonError::into_inner);
    let report = Fidelity::new(plan, state.sides, state.tally, state.disagreements, seconds, next);
    report.keep(plan)?;
    Ok((report, ended.map(|_| ())))
}

impl Shared<'_> {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pair(&self) -> anyhow::Result<Pair> {
        let pair = Pair::start(self.plan)?;
        let sides = pair.workers().map(|worker| Side::new(worker.hello())).to_vec();
        self.state().sides = sides;
        Ok(pair)
    }

    /// The next case to run; `None` at the end.
    fn claim(&self) -> Option<u64> {
        let late = self.plan.time.is_some_and(|time| self.started.elapsed() >= time);
        if late || self.stop.load(Ordering::Relaxed) {
            return None;
        }
        let claim = |index| self.plan.has(index).then_some(index + 1);
        self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, claim).ok()
    }

    fn run(&self, pair: &mut Pair, index: u64) -> anyhow::Result<()> {
        let item = self.plan.item(index);
        (self.on_case)(item.op.name);
        if !item.is_worth_running() {
            return Ok(());
        }
        let both = pair.run(&item.case)?;
        let mut counts = Values::default();
        let judged = judge(&mut pair.simulated, &item.case, &both, &mut counts)?;
        let (forms, standing) = (pair.simulated.forms(&both.launched), judged.as_ref().map(|judged| judged.standing));
        self.state().tally.count(item.op.name, &both, &forms, standing, &counts);
        let Some(judged) = judged else { return Ok(()) };
        let key = Key::new(item.op, &judged);
        if self.claims.claim(item.op.name, &key).is_some() {
            return Ok(());
        }
        let found = disagreement::settle(pair, self.plan, item, judged, &key, self.stop)?;
        found.keep(self.plan)?;
        self.state().disagreements.push(found);
        Ok(())
    }
}
