//! Streams: the order of their work, events, and waits. Work runs at its call, unless it comes after a function of the host: that has a
//! thread, which first waits for what is before it.

pub mod deferred;
pub mod happens_before;
pub mod per_thread;
pub mod stream;

use crate::objects::codes::{CAPTURE_ISOLATION, CAPTURE_MERGE, CAPTURED_EVENT, Code, INVALID_HANDLE, NOT_READY};
use crate::objects::driver::Driver;
use crate::objects::graphs::capture::Captured;
use crate::objects::graphs::graph::Host;
use crate::objects::process;
use crate::objects::reports::report;
use crate::objects::streams::deferred::{Deferred, Done};
use crate::objects::streams::happens_before::{Clock, Key, Work};
use crate::objects::streams::stream::Event;
use device_record::{Detail, Fault, How, Kind};
use std::sync::Arc;
use std::thread;
use std::time::Instant;

impl Driver {
    /// Whether a stream and the default stream wait for each other.
    pub(crate) fn is_blocking(&self, stream: usize) -> bool {
        per_thread::is_one(stream) || self.streams.get(stream).is_some_and(|stream| stream.blocking)
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
        self.stop_watching_all(stream.0);
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
        let clock = self.known(stream);
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

    /// Destroys a stream. Its work goes on.
    pub(crate) fn destroy_stream(&mut self, handle: usize) -> Result<(), Code> {
        let context = self.streams.remove(handle).ok_or(INVALID_HANDLE)?.context;
        self.happens_before.retire((context, handle));
        self.forget_destroyed();
        self.context(context)?.check()
    }

    /// Forgets destroyed streams from time to time. While work is deferred, it may still be unordered with theirs.
    pub(super) fn forget_destroyed(&mut self) {
        if self.happens_before.is_worth_collecting() {
            self.deferred.retain(|work| !work.done.is_set());
            if self.deferred.is_empty() && self.acting.is_none() {
                self.happens_before.collect();
            }
        }
    }

    /// Forgets the streams of threads that have ended. Their work goes on.
    fn forget_ended_threads(&mut self) {
        for stream in per_thread::take_ended() {
            self.happens_before.retire_in_all_contexts(stream);
            self.forget_destroyed();
        }
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

    /// Records that work in a stream accesses allocations, and reports unordered work in another stream.
    pub(crate) fn record_work(&mut self, key: Key, touched: &[(u64, bool)], what: &str) {
        if !self.config.checks.streams {
            return;
        }
        self.forget_ended_threads();
        if self.acting.is_none() {
            self.happens_before.begin(key, self.is_blocking(key.1));
        }
        if !self.in_flight.is_empty() && touched.iter().any(|&(base, wrote)| wrote && self.is_pinned(base)) {
            self.stop_watching_all(key.0);
        }
        for &(address, wrote) in touched {
            if let Some(before) = self.happens_before.access((key, self.acting.as_ref()), address, wrote, what) {
                report::finding(&unordered(address, wrote, what, &before));
            }
        }
    }

    /// Records that the program has waited for a stream, or for all of a context.
    pub(crate) fn host_waits_for(&mut self, context: usize, stream: Option<usize>) {
        self.happens_before.synchronize(context, stream);
        self.settle_copies();
    }

    /// Waits for a stream.
    pub(crate) fn wait(&mut self, stream: usize) -> Result<(), Code> {
        let key = self.key(stream)?;
        self.check_wait(key)?;
        self.await_stream(key)?;
        self.host_waits_for(key.0, Some(key.1));
        self.context(key.0)?.synchronize()
    }

    /// The event of a handle.
    pub(crate) fn event(&mut self, handle: usize) -> Result<&mut Event, Code> {
        self.events.get_mut(handle).ok_or(INVALID_HANDLE)
    }

    /// Records an event, in a stream of its own context.
    pub(crate) fn record_event(&mut self, event: usize, stream: usize) -> Result<(), Code> {
        let key = self.key(stream)?;
        let captured = self.valid_capture(key)?;
        let captured = captured.map(|capture| capture.recorded(key));
        let after = self.time_of_event(key);
        let event = self.event(event)?;
        if event.context != key.0 {
            return Err(INVALID_HANDLE);
        }
        event.is_recorded = true;
        if captured.is_none() {
            event.after = after;
            event.recorded = event.timing.then(Instant::now);
        }
        event.captured = captured;
        self.context(key.0)?.check()
    }

    /// What an event marks. The default stream's work comes after that of others too, of which it knows only when it begins.
    fn time_of_event(&self, key: Key) -> Clock {
        if self.deferred.is_empty() { self.happens_before.recorded(key) } else { self.known(key) }
    }

    /// Makes a stream wait for an event. A stream that waits for captured work is captured from then on.
    pub(crate) fn wait_in_stream(&mut self, stream: usize, event: usize) -> Result<(), Code> {
        let key = self.key(stream)?;
        let waiting = self.valid_capture(key)?.map(|capture| capture.id);
        let event = self.events.get(event).ok_or(INVALID_HANDLE)?;
        match (waiting, &event.captured) {
            (None, None) => self.happens_before.wait(key, &event.after),
            (Some(_), None) if !event.is_recorded => {}
            (Some(id), None) => return self.invalidate(|capture| capture.id == id, CAPTURE_ISOLATION),
            (Some(id), Some(captured)) if captured.capture != id => {
                let both = [id, captured.capture];
                return self.invalidate(|capture| both.contains(&capture.id), CAPTURE_MERGE);
            }
            (_, Some(captured)) => {
                let (id, captured) = (captured.capture, captured.clone());
                let capture = self.captures.iter_mut().find(|capture| capture.id == id).ok_or(CAPTURED_EVENT)?;
                capture.wait(key, &captured);
            }
        }
        self.context_of(stream).map(drop)
    }

    /// Waits for an event. What was captured cannot be waited for.
    pub(crate) fn wait_for_event(&mut self, handle: usize) -> Result<(), Code> {
        self.check_event(handle)?;
        let Event { context, after, .. } = self.event(handle)?;
        let (context, after) = (*context, after.clone());
        self.await_time(&after)?;
        self.happens_before.host_waits(&after);
        self.settle_copies();
        self.context(context)?.synchronize()
    }

    /// The same, unless that would take time.
    pub(crate) fn query_event(&mut self, handle: usize) -> Result<(), Code> {
        self.check_event(handle)?;
        let after = self.event(handle)?.after.clone();
        if self.is_past(&after) { self.wait_for_event(handle) } else { Err(NOT_READY) }
    }

    /// Waits for a stream, unless that would take time.
    pub(crate) fn query(&mut self, stream: usize) -> Result<(), Code> {
        let key = self.key(stream)?;
        self.check_wait(key)?;
        if self.is_idle(key) { self.wait(stream) } else { Err(NOT_READY) }
    }

    /// Waits for all work of a context.
    pub(crate) fn wait_for_context(&mut self, context: usize) -> Result<(), Code> {
        self.check_wait_for_context(context)?;
        self.await_context(context)?;
        self.host_waits_for(context, None);
        self.context(context)?.synchronize()
    }

    /// Refuses an event that was recorded in a capture.
    fn check_event(&mut self, handle: usize) -> Result<(), Code> {
        let event = self.events.get(handle).ok_or(INVALID_HANDLE)?;
        if let Some(Captured { capture: id, .. }) = event.captured {
            return self.invalidate(|capture| capture.id == id, CAPTURED_EVENT).and(Err(CAPTURED_EVENT));
        }
        Ok(())
    }
}

/// The report of unordered work of two streams.
fn unordered(address: u64, wrote: bool, what: &str, before: &Work) -> Fault {
    let how = |wrote: bool| if wrote { How::Write } else { How::Read };
    let detail = Detail::StreamOrder {
        call: what.to_owned(),
        how: how(wrote),
        before: before.what.clone(),
        earlier: how(before.wrote),
    };
    let note = "no event, wait or default stream orders the one after the other".to_owned();
    Fault { address: Some(address), notes: vec![note.into()], ..Fault::new(Kind::StreamRace, what, detail) }
}
