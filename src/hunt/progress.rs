//! What a campaign has done so far, so that it goes on after a kill at any moment: each case counts once.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use crate::coverage::Coverage;
use crate::store::{Log, NotPassed, Record, Tally};

/// What the verdict on a case adds to the campaign.
#[derive(Debug, Default)]
pub struct Done {
    /// Its counts.
    pub tally: Tally,
    /// Its lines in the list of failures: the op, the verdict and why.
    pub failures: Vec<(&'static str, NotPassed, String)>,
}

/// The record of a running campaign, and what of it is saved. A resumed campaign begins at the first case that is in progress, so
/// what the cases behind that one came to is saved once it is done.
#[derive(Debug)]
pub struct Progress {
    /// The record with the counts of all cases so far.
    pub record: Record,
    log: Log,
    /// The counts of the cases below the record's `next`.
    saved: Tally,
    /// The others.
    waiting: BTreeMap<u64, Done>,
    /// The cases in progress. The record's `next` is the smallest of them.
    running: BTreeSet<u64>,
    began: Instant,
    last_saved: Instant,
    /// How long earlier runs of this campaign took.
    seconds_before: f64,
}

impl Progress {
    /// Goes on with a record and its log, and saves them: from now on the campaign can be resumed.
    pub fn new(record: Record, log: Log) -> anyhow::Result<Self> {
        let (saved, seconds_before, now) = (record.tally.clone(), record.seconds, Instant::now());
        let (waiting, running) = (BTreeMap::new(), BTreeSet::new());
        let mut progress = Self { record, log, saved, waiting, running, began: now, last_saved: now, seconds_before };
        progress.save()?;
        Ok(progress)
    }

    /// The case at `index` begins.
    pub fn begin(&mut self, index: u64) {
        self.running.insert(index);
    }

    /// Adds to what the case at `index` came to.
    pub fn count(&mut self, index: u64, done: Done) {
        self.record.tally.add(&done.tally);
        let waiting = self.waiting.entry(index).or_default();
        waiting.tally.add(&done.tally);
        waiting.failures.extend(done.failures);
    }

    /// The case at `index` ends. The cases from `unclaimed` on have not begun.
    pub fn end(&mut self, index: u64, unclaimed: u64) -> anyhow::Result<()> {
        self.running.remove(&index);
        self.record.next = self.running.first().copied().unwrap_or(unclaimed);
        let still = self.waiting.split_off(&self.record.next);
        for (index, done) in std::mem::replace(&mut self.waiting, still) {
            self.saved.add(&done.tally);
            for (op, verdict, why) in done.failures {
                self.log.failure(index, op, verdict, &why)?;
            }
        }
        Ok(())
    }

    /// Whether the record was saved a while ago.
    pub fn is_due(&self) -> bool {
        self.last_saved.elapsed() >= Duration::from_millis(500)
    }

    /// Saves the record as of the cases below its `next`.
    pub fn save(&mut self) -> anyhow::Result<()> {
        self.last_saved = Instant::now();
        self.record.seconds = self.seconds_before + self.began.elapsed().as_secs_f64();
        self.log.save(&Record { tally: self.saved.clone(), ..self.record.clone() })
    }

    /// Saves the end of the campaign, and returns its record.
    pub fn finish(mut self, is_whole: bool, coverage: Coverage) -> anyhow::Result<Record> {
        self.record.finished = is_whole;
        self.save()?;
        self.log.save_coverage(coverage)?;
        Ok(self.record)
    }
}
