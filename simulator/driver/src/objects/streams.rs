//! Events, and waits for them and for streams.

use super::Driver;
use crate::objects::codes::{CAPTURE_ISOLATION, CAPTURE_MERGE, CAPTURED_EVENT, Code, INVALID_HANDLE, NOT_READY};
use crate::objects::graph::Captured;
use crate::objects::happens_before::{Clock, Key};
use crate::objects::stream::Event;
use std::time::Instant;

impl Driver {
    /// Waits for a stream.
    pub(crate) fn wait(&mut self, stream: usize) -> Result<(), Code> {
        let key = self.key(stream)?;
        self.check_wait(key)?;
        self.await_stream(key)?;
        self.happens_before.synchronize(key.0, Some(stream));
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
        self.happens_before.synchronize(context, None);
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
