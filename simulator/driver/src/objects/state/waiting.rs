//! Waits for streams and events.

use super::Driver;
use crate::objects::codes::{Code, INVALID_HANDLE};
use crate::objects::stream::Event;

impl Driver {
    /// Waits for a stream.
    pub(crate) fn wait(&mut self, stream: usize) -> Result<(), Code> {
        let context = self.stream_context(stream)?;
        self.happens_before.synchronize(context, Some(stream));
        self.context(context)?.synchronize()
    }

    /// The event of a handle.
    pub(crate) fn event(&mut self, handle: usize) -> Result<&mut Event, Code> {
        self.events.get_mut(handle).ok_or(INVALID_HANDLE)
    }

    /// Waits for an event's context, which has no work left.
    pub(crate) fn wait_for_event(&mut self, handle: usize) -> Result<(), Code> {
        let event = self.events.get(handle).ok_or(INVALID_HANDLE)?;
        let context = event.context;
        self.happens_before.host_waits(&event.after);
        self.context(context)?.synchronize()
    }
}
