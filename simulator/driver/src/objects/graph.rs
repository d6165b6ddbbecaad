//! Captures of streams, and the graphs that they become.

use super::codes::Code;
use super::happens_before::{Clock, HappensBefore, Key};
use super::state::Driver;
use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;

/// Work of a stream, which runs in the stream that is named.
pub type Work = Arc<Mutex<dyn FnMut(&mut Driver, Key) -> Result<(), Code> + Send>>;

/// A function of the host.
#[derive(Clone)]
pub struct Host {
    /// It gets the code of an error of the work before it, or 0.
    pub function: Arc<dyn Fn(Code) + Send + Sync>,
    /// Whether it runs after an error.
    pub after_errors: bool,
}

/// What a node of a graph does.
#[derive(Clone)]
pub enum Node {
    Work(Work),
    Host(Host),
    /// The nodes of another graph, and whether a launch of it frees what an earlier one has left.
    Graph(Arc<Mutex<Nodes>>, bool),
}

/// The work of a capture, in the order in which it was captured: one of those that its streams and events allow.
#[derive(Default, Clone)]
pub struct Nodes {
    pub work: Vec<Node>,
    /// The memory that it allocates at each launch.
    pub memory: Vec<u64>,
}

/// A graph.
pub struct Graph {
    pub context: usize,
    pub nodes: Arc<Mutex<Nodes>>,
}

/// A graph that can be launched.
pub struct Executable {
    pub graph: Graph,
    /// Whether a launch frees what an earlier one has left.
    pub frees: bool,
}

/// Which calls a capture forbids that might wait for it: those of all threads, of its own thread, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Global,
    ThreadLocal,
    Relaxed,
}

/// A capture that goes on.
pub struct Capture {
    pub id: u64,
    pub origin: Key,
    pub mode: Mode,
    pub thread: ThreadId,
    /// The streams that are captured: the origin, and those that waited for one of them.
    pub streams: HashSet<Key>,
    pub order: HappensBefore,
    pub nodes: Nodes,
    /// Whether nothing has happened that a capture forbids.
    pub valid: bool,
}

impl Capture {
    /// Adds work of one of its streams.
    pub fn add(&mut self, stream: Key, node: Node) {
        self.order.begin(stream, false);
        self.nodes.work.push(node);
    }

    /// Whether the origin has waited for all work of the other streams.
    pub fn is_joined(&self) -> bool {
        let known = self.order.recorded(self.origin);
        self.streams.iter().all(|stream| known.get(stream) == self.order.recorded(*stream).get(stream))
    }
}

/// An event's place in a capture.
pub struct Captured {
    pub capture: u64,
    pub after: Clock,
}
