//! The hunt: draws cases, runs them, judges what came, and turns each new signature into a minimized finding.

mod canary;
mod plan;
mod tally;

use std::collections::{BTreeSet, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::case::Case;
use crate::coverage::Coverage;
use crate::device::Device;
use crate::examine::{Examined, Patience, examine};
use crate::exec::{Build, DeviceLost, Executor, pool};
use crate::investigate::alone;
use crate::oracle::{Signature, Verdict};
use crate::settle::{Settings, canonical, settle};
use crate::store::{Finding, Log, Record, Store, keep_case};

pub use canary::check as check_canary;
pub use plan::{Plan, Sample, Shard};

/// What a campaign tells while it runs.
#[derive(Debug)]
pub enum Event<'a> {
    /// The canary's faults were all noticed on every device.
    CanaryPassed {
        /// How many faults.
        faults: usize,
        /// By workers with debug assertions and overflow checks?
        checked: bool,
    },
    /// A new finding is stored.
    Found(&'a Finding),
    /// A finding that the store already has was met for the first time in this campaign.
    Known(&'a Signature),
    /// A failure could not be made to happen again in a new process.
    Flaky(&'a Signature),
    /// This device did not come back after this case, which is in this file.
    Lost(Device, &'a Case, &'a Path),
    /// Now and then.
    Progress(&'a Record),
}

/// How a campaign ended.
#[derive(Debug)]
pub struct Summary {
    /// The record as stored.
    pub record: Record,
    /// Canary faults that nobody noticed; the campaign is invalid where there are any.
    pub missed: Vec<String>,
    /// New findings.
    pub new: usize,
}

/// What the threads of a campaign share.
struct Shared<'a> {
    plan: &'a Plan,
    store: &'a Store,
    tell: &'a (dyn Fn(Event) + Sync),
    stop: &'a AtomicBool,
    begun: Instant,
    next: AtomicU64,
    state: Mutex<State>,
}

struct State {
    record: Record,
    log: Log,
    /// Indices that some thread works on: the record's `next` is below all of them.
    running: BTreeSet<u64>,
    claimed: HashSet<Signature>,
    new: usize,
    saved: Instant,
    seconds_before: f64,
    coverage: Coverage,
}

/// Runs `plan` until it is done or `stop` is set. `record` and `log` are continued.
pub fn hunt(
    plan: &Plan,
    store: &Store,
    record: Record,
    log: Log,
    stop: &AtomicBool,
    tell: &(dyn Fn(Event) + Sync),
) -> anyhow::Result<Summary> {
    let canary = check_canary(&plan.devices)?;
    if !canary.missed.is_empty() {
        return Ok(Summary { record, missed: canary.missed, new: 0 });
    }
    tell(Event::CanaryPassed { faults: canary.faults, checked: canary.overflow_checks });
    let now = Instant::now();
    let seconds_before = record.seconds;
    let state = State {
        record,
        log,
        running: BTreeSet::new(),
        claimed: HashSet::new(),
        new: 0,
        saved: now,
        seconds_before,
        coverage: Coverage::default(),
    };
    let next = AtomicU64::new(plan.shard.from(plan.first));
    let shared = Shared { plan, store, tell, stop, begun: now, next, state: Mutex::new(state) };
    let result = pool::each(
        plan.jobs,
        || shared.claim(),
        || Executor::start(&plan.devices, Build::Checked, plan.limits),
        |executor, index| shared.run(executor, index).map(|()| None::<()>),
        |executor| {
            let coverage = executor.finish()?;
            shared.state().coverage.merge(&coverage);
            Ok(())
        },
    );
    let mut state = shared.state.into_inner().unwrap_or_else(PoisonError::into_inner);
    state.record.finished = result.is_ok() && !stop.load(Ordering::Relaxed);
    state.record.seconds = state.seconds_before + shared.begun.elapsed().as_secs_f64();
    // What was found and counted is kept even where a thread failed.
    state.log.save(&state.record)?;
    state.log.save_coverage(state.coverage)?;
    result?;
    Ok(Summary { record: state.record, missed: Vec::new(), new: state.new })
}

impl Shared<'_> {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One case.
    fn run(&self, executor: &mut Executor, index: u64) -> anyhow::Result<()> {
        // A contract or reference that panics is a bug in this suite, and ends no campaign.
        let stepped = catch_unwind(AssertUnwindSafe(|| self.step(executor, index)));
        let result = stepped.unwrap_or_else(|_| self.broken(index));
        if let Err(error) = &result {
            self.stop.store(true, Ordering::Relaxed);
            self.keep_last(index, error)?;
        }
        result?;
        self.done(index)
    }

    /// Keeps the case after which a device is gone. Nothing else is known of it, and nothing can be tried.
    fn keep_last(&self, index: u64, error: &anyhow::Error) -> anyhow::Result<()> {
        let Some(lost) = error.downcast_ref::<DeviceLost>() else { return Ok(()) };
        let drawn = self.plan.sample(index).drawn.case;
        let case = lost.case.as_ref().unwrap_or(&drawn);
        let name = format!("{}-{}-{index}", case.op, self.plan.seed);
        (self.tell)(Event::Lost(lost.device, case, &keep_case(&self.store.lost(), &name, case)?));
        Ok(())
    }

    /// Notes that judging the case at `index` made this suite panic.
    fn broken(&self, index: u64) -> anyhow::Result<()> {
        let mut state = self.state();
        let State { record, log, .. } = &mut *state;
        record.tally.broken += 1;
        log.failure(index, "", "broken", "snuffer panicked")
    }

    /// The plan's settings with what is left of the campaign's time, and a little more for what it found last.
    fn settings(&self) -> Settings {
        const GRACE: Duration = Duration::from_secs(3);
        let left = self.plan.time.map(|time| time.saturating_sub(self.begun.elapsed()) + GRACE);
        let time = left.map_or(self.plan.settings.time, |left| left.min(self.plan.settings.time));
        Settings { time, ..self.plan.settings }
    }

    fn claim(&self) -> Option<u64> {
        let late = self.plan.time.is_some_and(|time| self.begun.elapsed() >= time);
        if late || self.stop.load(Ordering::Relaxed) {
            return None;
        }
        let mut state = self.state();
        let index = self.next.fetch_add(self.plan.shard.of, Ordering::Relaxed);
        if !self.plan.reaches(index) {
            return None;
        }
        state.running.insert(index);
        Some(index)
    }

    fn done(&self, index: u64) -> anyhow::Result<()> {
        let mut state = self.state();
        state.running.remove(&index);
        let begun = self.next.load(Ordering::Relaxed);
        state.record.next = state.running.first().copied().unwrap_or(begun);
        if state.saved.elapsed() >= Duration::from_millis(500) {
            let State { record, log, saved, seconds_before, .. } = &mut *state;
            *saved = Instant::now();
            record.seconds = *seconds_before + self.begun.elapsed().as_secs_f64();
            log.save(record)?;
            (self.tell)(Event::Progress(record));
        }
        Ok(())
    }

    fn knows(&self, signature: &Signature) -> bool {
        self.state().claimed.contains(signature)
    }

    fn step(&self, executor: &mut Executor, index: u64) -> anyhow::Result<()> {
        if let Some(fault) = canary::planted(&self.plan.devices, self.plan.inject, index) {
            let noticed = canary::noticed(executor, fault)?;
            let mut state = self.state();
            let (right, all) = state.record.tally.canaries.entry(fault.name.to_string()).or_default();
            *right += u64::from(noticed);
            *all += 1;
            return Ok(());
        }
        let sample = self.plan.sample(index);
        let (op, case) = (sample.op, &sample.drawn.case);
        // A case that is late gets its full deadline only for a failure that is new.
        let is_new = |verdict: &Verdict| matches!(verdict, Verdict::Fail(it) if !self.knows(&it.signature(op.name)));
        let Examined { verdict, observations } = examine(executor, op, case, Patience::ShortThenFull(&is_new))?;
        let violation = {
            let mut state = self.state();
            let State { record, log, .. } = &mut *state;
            tally::count(&mut record.tally, &sample, &observations, &verdict);
            match verdict {
                Verdict::Pass => return Ok(()),
                Verdict::Skip(why) => return log.failure(index, op.name, "skip", why),
                Verdict::Fail(violation) => {
                    log.failure(index, op.name, "fail", &violation.signature(op.name).slug())?;
                    violation
                }
            }
        };
        self.settle_all(executor, &sample, violation.signature(op.name))
    }

    /// Settles the failure of the case of `sample`, and every other failure that is met while minimizing it.
    fn settle_all(&self, executor: &mut Executor, sample: &Sample, signature: Signature) -> anyhow::Result<()> {
        let mut queue = vec![(sample.drawn.case.clone(), signature)];
        while let Some((case, signature)) = queue.pop() {
            if self.knows(&signature) {
                continue;
            }
            let (case, signature) = canonical(executor, case, signature)?;
            if !self.state().claimed.insert(signature.clone()) {
                continue;
            }
            if self.store.has(&signature) {
                (self.tell)(Event::Known(&signature));
                continue;
            }
            let settled = settle(executor, case, &signature, &self.settings())?;
            queue.extend(settled.met);
            match settled.finding {
                None => (self.tell)(Event::Flaky(&signature)),
                // Only what takes more than one step is a matter of the sequence.
                Some(finding) if let Some((call, violation)) = alone(executor, &finding.case)? => {
                    let signature = violation.signature(&call.op);
                    queue.push((call, signature));
                }
                Some(mut finding) => {
                    finding.origin.seed = self.plan.seed;
                    finding.origin.index = sample.number;
                    if self.store.insert(&finding)? {
                        self.state().new += 1;
                        (self.tell)(Event::Found(&finding));
                    }
                }
            }
        }
        Ok(())
    }
}
