//! Streams and events. Work runs to its end at the call, so that waiting only delivers errors.

use crate::objects::graphs::capture::Captured;
use crate::objects::streams::happens_before::Clock;
use std::time::Instant;

/// A stream that the program made.
pub struct Stream {
    pub context: usize,
    /// Whether it waits for the default stream, and that one for it.
    pub blocking: bool,
}

/// An event; candle's bindings make two with every allocation.
pub struct Event {
    pub context: usize,
    pub timing: bool,
    pub recorded: Option<Instant>,
    /// The work that it marks.
    pub after: Clock,
    /// Whether it was recorded.
    pub is_recorded: bool,
    /// Its place in the capture in which it was recorded.
    pub captured: Option<Captured>,
}
