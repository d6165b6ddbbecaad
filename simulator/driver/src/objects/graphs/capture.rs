//! Captures of streams, which become graphs.

use crate::objects::codes::Code;
use crate::objects::graphs::graph::{Graph, Task};
use crate::objects::streams::happens_before::{Clock, HappensBefore, Key};
use std::collections::HashMap;
use std::thread::ThreadId;

/// Which calls a capture forbids that might wait for it: those of all threads, of its own thread, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Global,
    ThreadLocal,
    Relaxed,
}

/// A capture that goes on.
pub struct Capture<W> {
    pub id: u64,
    pub origin: Key,
    pub mode: Mode,
    pub thread: ThreadId,
    /// The streams that are captured: the origin, and those that waited for one of them. With the nodes that their next work
    /// comes after.
    pub streams: HashMap<Key, Vec<usize>>,
    pub order: HappensBefore,
    pub graph: Graph<W>,
    /// Whether nothing has happened that a capture forbids.
    pub valid: bool,
}

impl<W: Clone> Capture<W> {
    /// Adds work of one of its streams.
    pub fn add(&mut self, stream: Key, task: Task<W>) -> Result<(), Code> {
        self.order.begin(stream, false);
        let after = self.streams.get(&stream).cloned().unwrap_or_default();
        let node = self.graph.add(&after, task)?;
        self.streams.insert(stream, vec![node]);
        Ok(())
    }

    /// What an event marks that is recorded in a stream.
    pub fn recorded(&self, stream: Key) -> Captured {
        let nodes = self.streams.get(&stream).cloned().unwrap_or_default();
        Captured { capture: self.id, after: self.order.recorded(stream), nodes }
    }

    /// A stream waits for an event, and is captured from then on.
    pub fn wait(&mut self, stream: Key, event: &Captured) {
        self.order.wait(stream, &event.after);
        let after = self.streams.entry(stream).or_default();
        let new = event.nodes.iter().filter(|node| !after.contains(node)).copied().collect::<Vec<_>>();
        after.extend(new);
    }

    /// Whether the origin has waited for all work of the other streams.
    pub fn is_joined(&self) -> bool {
        let known = self.order.recorded(self.origin);
        self.streams.keys().all(|stream| known.get(stream) == self.order.recorded(*stream).get(stream))
    }
}

/// An event's place in a capture.
#[derive(Clone)]
pub struct Captured {
    pub capture: u64,
    pub after: Clock,
    pub nodes: Vec<usize>,
}
