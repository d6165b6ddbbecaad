//! The hunt: draws cases, runs and judges them, and turns each new signature into a minimized finding.

mod canary;
mod event;
mod late_devices;
mod lost_devices;
mod plan;
mod progress;
mod settling;
mod tally;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::coverage::Coverage;
use crate::examine::{Examined, Patience, examine};
use crate::exec::{DeviceLost, Executor, pool};
use crate::oracle::{Signature, Verdict};
use crate::settle::{Claims, Settings, Source};
use crate::store::{Finding, Log, NotPassed, Record, Store, Tally};

use late_devices::Devices;
use lost_devices::Thread;
use progress::{Done, Progress};

pub use canary::check as check_canary;
pub use event::Event;
pub use late_devices::SetUp;
pub use plan::{Plan, Sample, Shard};

/// How a campaign ended.
#[derive(Debug)]
pub struct Summary {
    /// The record as stored.
    pub record: Record,
    /// Canary faults that were not noticed; if there are any, the campaign is invalid.
    pub missed: Vec<String>,
    /// The findings that the store did not have, by name.
    pub new: Vec<(String, Finding)>,
}

/// State that the threads of a campaign share.
struct Shared<'a> {
    plan: &'a Plan,
    store: &'a Store,
    on_event: &'a (dyn Fn(Event) + Sync),
    stop: &'a AtomicBool,
    devices: Devices,
    next_index: AtomicU64,
    threads: AtomicUsize,
    claims: Claims<Signature>,
    state: Mutex<State>,
}

struct State {
    progress: Progress,
    /// The signatures of cases as drawn, and how many more cases looked like a known finding.
    seen: HashMap<Signature, u64>,
    /// Planted faults that were not noticed on a device that joined.
    missed: Vec<String>,
    new: Vec<(String, Finding)>,
    coverage: Coverage,
}

/// Runs `plan` until it is done or `stop` is set. Continues `record` and `log`. Takes in the devices of `set_up` when it ends.
pub fn hunt(
    plan: &Plan,
    set_up: Option<SetUp>,
    store: &Store,
    record: Record,
    log: Log,
    stop: &AtomicBool,
    on_event: &(dyn Fn(Event) + Sync),
) -> anyhow::Result<Summary> {
    let mut record = record;
    let devices = lost_devices::open(plan, &mut record, on_event)?;
    let canary = check_canary(&devices, plan.spec.candle.clone())?;
    if !canary.missed.is_empty() {
        return Ok(Summary { record, missed: canary.missed, new: Vec::new() });
    }
    let state = State {
        progress: Progress::new(record, log)?,
        seen: HashMap::new(),
        missed: Vec::new(),
        new: Vec::new(),
        coverage: Coverage::default(),
    };
    on_event(Event::CanaryPassed { faults: canary.faults, checked: canary.overflow_checks });
    let next_index = AtomicU64::new(plan.shard.first_index(plan.first));
    let devices = Devices::new(devices, plan.spread, set_up);
    let (threads, state) = (AtomicUsize::new(0), Mutex::new(state));
    let claims = Claims::default();
    let shared = Shared { plan, store, on_event, stop, devices, next_index, threads, claims, state };
    let result = pool::each(
        plan.jobs,
        || shared.claim(),
        || shared.thread(shared.threads.fetch_add(1, Ordering::Relaxed)),
        |thread, index| shared.run(thread, index).map(|()| None::<()>),
        |thread| shared.finish(thread.executor),
    );
    let state = shared.state.into_inner().unwrap_or_else(PoisonError::into_inner);
    // Keep counts and findings even if a thread failed.
    let record = state.progress.finish(result.is_ok() && !stop.load(Ordering::Relaxed), state.coverage)?;
    result?;
    Ok(Summary { record, missed: state.missed, new: state.new })
}

impl Shared<'_> {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn finish(&self, executor: Executor) -> anyhow::Result<()> {
        match executor.finish() {
            Ok(coverage) => self.state().coverage.merge(&coverage),
            // A process that a wedged device keeps.
            Err(error) if error.is::<DeviceLost>() => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Runs the case at `index` and settles its failures.
    fn run(&self, thread: &mut Thread, index: u64) -> anyhow::Result<()> {
        self.take_in()?;
        let _turn = self.devices.turn();
        self.follow(thread)?;
        let ran = pool::caught(|| self.examine_case(thread, index));
        match ran.map(|done| done.unwrap_or_else(|| self.count_broken(index))) {
            Err(error) if !self.goes_on_without(&error, Some(index))? => {
                self.stop.store(true, Ordering::Relaxed);
                Err(error)
            }
            _ => self.release(index),
        }
    }

    /// Records that judging the case at `index` made this suite panic.
    fn count_broken(&self, index: u64) {
        let tally = Tally { broken: 1, ..Tally::default() };
        let failures = vec![("", NotPassed::Broken, "snuffer panicked".to_string())];
        self.state().progress.count(index, Done { tally, failures });
    }

    /// The plan's settings, limited to the campaign's remaining time plus a short grace period for its last findings.
    fn settings(&self) -> Settings {
        const GRACE: Duration = Duration::from_secs(3);
        let left = self.plan.time.map(|time| time.saturating_sub(self.devices.complete_for()) + GRACE);
        let time = left.map_or(self.plan.settings.time, |left| left.min(self.plan.settings.time));
        Settings { time, ..self.plan.settings }
    }

    /// The next index to run; `None` when the campaign is over.
    fn claim(&self) -> Option<u64> {
        let is_over = self.plan.time.is_some_and(|time| self.devices.complete_for() >= time);
        let mut state = self.state();
        let index = self.next_index.load(Ordering::Relaxed);
        // An index without a case stays unclaimed: a resumed campaign begins there.
        if is_over || self.stop.load(Ordering::Relaxed) || !self.plan.has_case(index) {
            return None;
        }
        self.next_index.store(index.saturating_add(self.plan.shard.count), Ordering::Relaxed);
        state.progress.begin(index);
        Some(index)
    }

    /// Ends the claim on `index`, and saves the record now and then.
    fn release(&self, index: u64) -> anyhow::Result<()> {
        let mut state = self.state();
        state.progress.end(index, self.next_index.load(Ordering::Relaxed))?;
        if state.progress.is_due() {
            state.progress.save()?;
            (self.on_event)(Event::Progress(&state.progress.record, state.new.len()));
        }
        Ok(())
    }

    fn examine_case(&self, thread: &mut Thread, index: u64) -> anyhow::Result<()> {
        let executor = &mut thread.executor;
        if let Some(fault) = canary::fault_at(&executor.devices(), self.plan.inject, index) {
            let is_noticed = canary::is_noticed(executor, fault)?;
            let canaries = [(fault.name.to_string(), (u64::from(is_noticed), 1))].into();
            let tally = Tally { canaries, ..Tally::default() };
            self.state().progress.count(index, Done { tally, ..Done::default() });
            return Ok(());
        }
        let sample = self.plan.sample(index);
        let (op, case) = (sample.op, &sample.drawn.case);
        // A late case gets its full deadline only if a failure is new.
        let is_new = |verdict: &Verdict| verdict.signatures(op.name).iter().any(|signature| self.is_new(signature));
        let skip = |why| Examined { verdict: Verdict::Skip(why), observations: Vec::new() };
        let Examined { verdict, observations } = if self.has_lost_second(executor, case) {
            skip("the second device is lost")
        } else if self.plan.spec.lacks(case).is_some() {
            skip("this candle lacks its dtype")
        } else {
            examine(executor, op, case, Patience::ShortThenFull(&is_new))?
        };
        let verdict = thread.original.excuse(op, case, &thread.executor.devices(), verdict)?;
        let signatures = verdict.signatures(op.name);
        let failures = match verdict {
            Verdict::Skip(why) => vec![(op.name, NotPassed::Skip, why.to_string())],
            _ => signatures.iter().map(|signature| (op.name, NotPassed::Fail, signature.slug())).collect(),
        };
        let tally = tally::of(&sample, &observations, &verdict);
        self.state().progress.count(index, Done { tally, failures });
        // The main violation is settled first.
        let queue = signatures.into_iter().rev().map(|signature| (sample.drawn.case.clone(), signature)).collect();
        self.settle_all(thread, Source { seed: self.plan.seed, index: sample.number }, queue)
    }
}
