//! Functions of the host, which run while the program goes on, and the work that must wait for them. Each has a thread, which
//! first waits for what is before it by the order of streams and events. All other work runs at its call.

use super::Driver;
use crate::objects::codes::{Code, NOT_READY};
use crate::objects::graph::Host;
use crate::objects::happens_before::{Clock, Key};
use crate::objects::process;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

/// Whether deferred work has ended.
#[derive(Debug, Default)]
pub(crate) struct Done {
    is_done: Mutex<bool>,
    changed: Condvar,
}

impl Done {
    fn is_set(&self) -> bool {
        *self.is_done.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self) {
        *self.is_done.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }

    /// Waits for the work. Whoever waits must not hold the driver's lock, which the work may need.
    pub(crate) fn wait(&self) {
        let is_done = self.is_done.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.changed.wait_while(is_done, |is_done| !*is_done).unwrap_or_else(PoisonError::into_inner));
    }
}

/// Deferred work: its place in its stream.
pub(crate) struct Deferred {
    stream: Key,
    time: u64,
    done: Arc<Done>,
}

impl Driver {
    /// Whether a stream and the default stream wait for each other.
    pub(crate) fn is_blocking(&self, stream: usize) -> bool {
        stream == 2 || self.streams.get(stream).is_some_and(|stream| stream.blocking)
    }

    /// Runs work of a stream: now, or after the functions of the host that are before it.
    pub(super) fn run_in_order(
        &mut self,
        stream: Key,
        mut work: impl FnMut(&mut Self, Key) -> Result<(), Code> + Send + 'static,
    ) -> Result<(), Code> {
        // Work that is deferred has waited already.
        if self.acting.is_some() || self.unfinished(|driver| driver.known(stream)).is_empty() {
            return work(self, stream);
        }
        let calling = self.calling;
        self.defer(stream, move |clock| {
            process::later(calling, |driver| {
                driver.acting = Some(clock);
                if let Err(code) = work(driver, stream) {
                    // The call has returned long ago, so a later one tells.
                    let _ = driver.poison(stream.0, code);
                }
                driver.acting = None;
            });
        });
        Ok(())
    }

    /// Runs a function of the host in a stream.
    pub(crate) fn run_host(&mut self, stream: Key, Host { function, after_errors }: Host) {
        self.defer(stream, move |_| {
            let status = process::later("", |driver| driver.context(stream.0).and_then(|context| context.outcome()));
            // Not under the driver's lock: it may wait for another thread, which may call CUDA.
            if after_errors || status.is_ok() {
                function(status.err().unwrap_or(0));
            }
        });
    }

    fn defer(&mut self, stream: Key, run: impl FnOnce(Clock) + Send + 'static) {
        let before = self.unfinished(|driver| driver.known(stream));
        self.happens_before.begin(stream, self.is_blocking(stream.1));
        let clock = self.happens_before.recorded(stream);
        let done = Arc::new(Done::default());
        self.deferred.push(Deferred { stream, time: clock[&stream], done: Arc::clone(&done) });
        thread::spawn(move || {
            for work in before {
                work.wait();
            }
            run(clock);
            done.set();
        });
    }

    /// What work of a stream would come after, if it began now.
    pub(crate) fn known(&self, stream: Key) -> Clock {
        self.happens_before.known(stream, self.is_blocking(stream.1))
    }

    /// The deferred work that has not ended and that is before this time. The time is asked for only if there is any.
    fn unfinished(&mut self, time: impl FnOnce(&Self) -> Clock) -> Vec<Arc<Done>> {
        if self.deferred.is_empty() {
            return Vec::new();
        }
        self.deferred.retain(|work| !work.done.is_set());
        let clock = time(self);
        let is_before = |work: &&Deferred| clock.get(&work.stream).is_some_and(|&known| known >= work.time);
        self.deferred.iter().filter(is_before).map(|work| Arc::clone(&work.done)).collect()
    }

    /// Whether a stream has done all its work.
    pub(crate) fn is_idle(&mut self, stream: Key) -> bool {
        self.unfinished(|driver| driver.known(stream)).is_empty()
    }

    /// Whether everything has ended that was before this time.
    pub(crate) fn is_past(&mut self, time: &Clock) -> bool {
        self.unfinished(|_| time.clone()).is_empty()
    }

    /// Has the call wait for a stream; an error that ends this attempt if there is something to wait for.
    pub(crate) fn await_stream(&mut self, stream: Key) -> Result<(), Code> {
        let work = self.unfinished(|driver| driver.known(stream));
        self.await_all(work)
    }

    /// The same, for everything before a time.
    pub(crate) fn await_time(&mut self, time: &Clock) -> Result<(), Code> {
        let work = self.unfinished(|_| time.clone());
        self.await_all(work)
    }

    /// The same, for all work of a context.
    pub(crate) fn await_context(&mut self, context: usize) -> Result<(), Code> {
        self.deferred.retain(|work| !work.done.is_set());
        let of_context = self.deferred.iter().filter(|work| work.stream.0 == context);
        let work = of_context.map(|work| Arc::clone(&work.done)).collect();
        self.await_all(work)
    }

    fn await_all(&mut self, work: Vec<Arc<Done>>) -> Result<(), Code> {
        self.awaited = work;
        if self.awaited.is_empty() { Ok(()) } else { Err(NOT_READY) }
    }
}
