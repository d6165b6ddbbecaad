//! Captures: work of a stream that is kept for a graph and does not run.

use crate::objects::codes::{
    CAPTURE_IMPLICIT, CAPTURE_INVALIDATED, CAPTURE_UNJOINED, CAPTURE_UNMATCHED, CAPTURE_UNSUPPORTED,
    CAPTURE_WRONG_THREAD, Code, ILLEGAL_STATE,
};
use crate::objects::driver::{Capture, Driver, Graph, Task};
use crate::objects::graphs::capture::Mode;
use crate::objects::streams::happens_before::{HappensBefore, Key, LEGACY};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::thread;

/// The number in `CUgraphNodeType` of what this function of CUDA adds to a graph. Those of libraries add kernels.
fn kind_of(function: &str) -> u32 {
    let kinds = [("Memcpy", 1), ("Memset", 2), ("MemAlloc", 10), ("Malloc", 10), ("MemFree", 11), ("cudaFree", 11)];
    kinds.into_iter().find(|(part, _)| function.contains(part)).map_or(0, |(_, kind)| kind)
}

impl Driver {
    /// Runs work in a stream, or keeps it if the stream is being captured. Work that comes after a function of the host waits for it.
    pub(crate) fn submit(
        &mut self,
        stream: Key,
        work: impl FnMut(&mut Self, Key) -> Result<(), Code> + Send + 'static,
    ) -> Result<(), Code> {
        let kind = kind_of(self.calling);
        match self.valid_capture(stream)? {
            Some(capture) => capture.add(stream, Task::Work(Arc::new(Mutex::new(work)), kind)),
            None => self.run_in_order(stream, work),
        }
    }

    /// The capture that a stream is part of.
    pub(crate) fn capture_of(&mut self, stream: Key) -> Option<&mut Capture> {
        self.captures.iter_mut().find(|capture| capture.streams.contains_key(&stream))
    }

    /// The capture that a stream is part of; an error if work in the stream is forbidden.
    pub(crate) fn valid_capture(&mut self, stream: Key) -> Result<Option<&mut Capture>, Code> {
        self.check_implicit(stream)?;
        match self.capture_of(stream) {
            Some(capture) if !capture.valid => Err(CAPTURE_INVALIDATED),
            capture => Ok(capture),
        }
    }

    /// Begins a capture.
    pub(crate) fn begin_capture(&mut self, stream: Key, mode: Mode) -> Result<(), Code> {
        if matches!(stream.1, 0 | 1) {
            return Err(CAPTURE_UNSUPPORTED);
        }
        if self.capture_of(stream).is_some() {
            return Err(ILLEGAL_STATE);
        }
        self.captured += 1;
        self.captures.push(Capture {
            id: self.captured,
            origin: stream,
            mode,
            thread: thread::current().id(),
            streams: HashMap::from([(stream, Vec::new())]),
            order: HappensBefore::default(),
            graph: Graph::new(stream.0),
            valid: true,
        });
        Ok(())
    }

    /// Ends the capture that began in a stream.
    pub(crate) fn end_capture(&mut self, stream: Key) -> Result<Graph, Code> {
        let Some(at) = self.captures.iter().position(|capture| capture.streams.contains_key(&stream)) else {
            return Err(ILLEGAL_STATE);
        };
        let capture = &self.captures[at];
        if capture.origin != stream {
            return Err(CAPTURE_UNMATCHED);
        }
        if capture.mode != Mode::Relaxed && capture.thread != thread::current().id() {
            return Err(CAPTURE_WRONG_THREAD);
        }
        let capture = self.captures.swap_remove(at);
        match (capture.valid, capture.is_joined()) {
            (false, _) => Err(CAPTURE_INVALIDATED),
            (true, false) => Err(CAPTURE_UNJOINED),
            (true, true) => Ok(capture.graph),
        }
    }

    /// Refuses a call that waits for a stream while that is captured.
    pub(crate) fn check_wait(&mut self, stream: Key) -> Result<(), Code> {
        self.check_implicit(stream)?;
        let waits = |capture: &Capture| capture.streams.contains_key(&stream);
        self.invalidate(waits, CAPTURE_UNSUPPORTED)
    }

    /// Refuses a call that waits for a context while a stream of it is captured.
    pub(crate) fn check_wait_for_context(&mut self, context: usize) -> Result<(), Code> {
        self.invalidate(|capture| capture.origin.0 == context, CAPTURE_UNSUPPORTED)
    }

    /// Refuses a call that may wait for any stream, unless no capture forbids such calls to this thread.
    pub(crate) fn check_unsafe(&mut self) -> Result<(), Code> {
        let thread = thread::current().id();
        let forbids = |capture: &Capture| match capture.mode {
            Mode::Global => true,
            Mode::ThreadLocal => capture.thread == thread,
            Mode::Relaxed => false,
        };
        self.invalidate(forbids, CAPTURE_UNSUPPORTED)
    }

    /// Invalidates the captures that `concerns` names, and returns `code` if there are any.
    pub(crate) fn invalidate(&mut self, concerns: impl Fn(&Capture) -> bool, code: Code) -> Result<(), Code> {
        let mut found = Ok(());
        for capture in self.captures.iter_mut().filter(|capture| concerns(capture)) {
            capture.valid = false;
            found = Err(code);
        }
        found
    }

    /// Refuses work in the legacy stream while a stream is captured that waits for it.
    fn check_implicit(&mut self, stream: Key) -> Result<(), Code> {
        if self.captures.is_empty() || stream.1 != LEGACY {
            return Ok(());
        }
        let blocks = |key: &Key| key.0 == stream.0 && self.is_blocking(key.1);
        let concerned: Vec<u64> = self
            .captures
            .iter()
            .filter(|capture| capture.streams.keys().any(blocks))
            .map(|capture| capture.id)
            .collect();
        self.invalidate(|capture| concerned.contains(&capture.id), CAPTURE_IMPLICIT)
    }
}
