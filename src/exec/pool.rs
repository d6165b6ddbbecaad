//! A pool of threads, each with its own state, such as a set of workers.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use anyhow::bail;

/// Calls `work` for each number from `next`, on `jobs` threads with a state each, until `next` returns `None` or a thread
/// fails. Returns the results in the order of their numbers, or the first error. Waits for every thread in either case.
pub fn each<T: Send, S>(
    jobs: usize,
    next: impl Fn() -> Option<u64> + Sync,
    start: impl Fn() -> anyhow::Result<S> + Sync,
    work: impl Fn(&mut S, u64) -> anyhow::Result<Option<T>> + Sync,
    finish: impl Fn(S) -> anyhow::Result<()> + Sync,
) -> anyhow::Result<Vec<T>> {
    let (failed, done) = (AtomicBool::new(false), Mutex::new(Vec::new()));
    let thread = || -> anyhow::Result<()> {
        let mut state = start().inspect_err(|_| failed.store(true, Ordering::Relaxed))?;
        while !failed.load(Ordering::Relaxed) {
            let Some(number) = next() else { break };
            let result = work(&mut state, number).inspect_err(|_| failed.store(true, Ordering::Relaxed))?;
            done.lock().unwrap_or_else(PoisonError::into_inner).extend(result.map(|result| (number, result)));
        }
        finish(state)
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..jobs).map(|_| scope.spawn(thread)).collect();
        let ended: Vec<_> = threads.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        ended.into_iter().try_for_each(|ended| ended.unwrap_or_else(|_| bail!("a thread panicked")))
    })?;
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(number, _)| *number);
    Ok(done.into_iter().map(|(_, result)| result).collect())
}

/// The result of `work` on one case; `None` if it panics. A contract or reference that panics is a bug in this suite, and must not end a
/// campaign.
pub fn caught<T>(work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<Option<T>> {
    catch_unwind(AssertUnwindSafe(work)).map_or(Ok(None), |result| result.map(Some))
}
