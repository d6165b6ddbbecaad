//! Graphs, and captures of streams that become graphs.

use super::codes::{Code, INVALID_VALUE};
use super::copy::{Copy3, Fill};
use super::happens_before::{Clock, HappensBefore, Key};
use super::state::{Driver, KernelNode};
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
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
pub enum Task {
    /// What a stream was captured with, and its kind.
    Work(Work, u32),
    Kernel(Arc<KernelNode>),
    Copy(Copy3),
    Fill(Fill),
    Host(Host),
    /// Another graph, and whether a launch of it frees what an earlier one has left.
    Graph(Arc<Graph>, bool),
    Empty,
    /// Waits for an event.
    Wait(usize),
    /// Records an event.
    Record(usize),
}

impl Task {
    /// Its number in `CUgraphNodeType`.
    pub fn kind(&self) -> u32 {
        match self {
            Self::Work(_, kind) => *kind,
            Self::Kernel(_) => 0,
            Self::Copy(_) => 1,
            Self::Fill(_) => 2,
            Self::Host(_) => 3,
            Self::Graph(..) => 4,
            Self::Empty => 5,
            Self::Wait(_) => 6,
            Self::Record(_) => 7,
        }
    }
}

/// A node of a graph.
#[derive(Clone)]
pub struct Node {
    pub handle: usize,
    /// The nodes that it comes after.
    pub after: Vec<usize>,
    pub task: Task,
}

/// A graph. Nothing but their edges orders its nodes.
#[derive(Clone)]
pub struct Graph {
    pub context: usize,
    /// In the order in which they were added.
    pub nodes: Vec<Node>,
    /// The memory that it allocates at each launch.
    pub memory: Vec<u64>,
}

impl Graph {
    pub fn new(context: usize) -> Self {
        Self { context, nodes: Vec::new(), memory: Vec::new() }
    }

    /// Adds a node; gives its handle.
    pub fn add(&mut self, after: &[usize], task: Task) -> Result<usize, Code> {
        /// No handle is used again, so that the handle of a node that was destroyed stays invalid.
        static LAST: AtomicUsize = AtomicUsize::new(0x64 << 56);
        let handle = LAST.fetch_add(1, Ordering::Relaxed) + 1;
        self.nodes.push(Node { handle, after: Vec::new(), task });
        for &before in after {
            if let Err(code) = self.connect(before, handle) {
                self.nodes.pop();
                return Err(code);
            }
        }
        Ok(handle)
    }

    /// Makes a node come after another one.
    pub fn connect(&mut self, before: usize, after: usize) -> Result<(), Code> {
        self.node(before).filter(|_| before != after).ok_or(INVALID_VALUE)?;
        let node = self.node_mut(after).ok_or(INVALID_VALUE)?;
        if node.after.contains(&before) {
            return Err(INVALID_VALUE);
        }
        node.after.push(before);
        Ok(())
    }

    /// Undoes that.
    pub fn disconnect(&mut self, before: usize, after: usize) -> Result<(), Code> {
        let node = self.node_mut(after).ok_or(INVALID_VALUE)?;
        let at = node.after.iter().position(|known| *known == before).ok_or(INVALID_VALUE)?;
        node.after.remove(at);
        Ok(())
    }

    /// Removes a node with its edges.
    pub fn remove(&mut self, handle: usize) {
        self.nodes.retain(|node| node.handle != handle);
        self.nodes.iter_mut().for_each(|node| node.after.retain(|before| *before != handle));
    }

    pub fn node(&self, handle: usize) -> Option<&Node> {
        // A new node is often one that comes after the last.
        self.nodes.iter().rev().find(|node| node.handle == handle)
    }

    pub fn node_mut(&mut self, handle: usize) -> Option<&mut Node> {
        self.nodes.iter_mut().rev().find(|node| node.handle == handle)
    }

    /// Its edges: from, to.
    pub fn edges(&self) -> Vec<[usize; 2]> {
        self.nodes.iter().flat_map(|node| node.after.iter().map(|before| [*before, node.handle])).collect()
    }

    /// The same graph, each node behind those that it comes after; `None` if there is a circle.
    pub fn sorted(&self) -> Option<Self> {
        let (mut left, mut nodes) = (VecDeque::from(self.nodes.clone()), Vec::new());
        let mut there = HashSet::new();
        while !left.is_empty() {
            let next = left.iter().position(|node| node.after.iter().all(|before| there.contains(before)))?;
            let node = left.remove(next)?;
            there.insert(node.handle);
            nodes.push(node);
        }
        Some(Self { nodes, ..self.clone() })
    }

    /// A copy, whose nodes are others.
    pub fn copied(&self) -> Result<Self, Code> {
        let mut copy = Self { nodes: Vec::new(), ..self.clone() };
        let mut copies = HashMap::new();
        for node in &self.nodes {
            copies.insert(node.handle, copy.add(&[], node.task.clone())?);
        }
        for [before, after] in self.edges() {
            copy.connect(copies[&before], copies[&after])?;
        }
        Ok(copy)
    }

    /// Takes over what the nodes of another graph do, if it has as many of the same kinds with the same edges. If not, how it differs,
    /// as a number of `CUgraphExecUpdateResult`, and the first node that does.
    pub fn update(&mut self, other: &Self) -> Result<(), (u32, usize)> {
        const TOPOLOGY: u32 = 2;
        const KIND: u32 = 3;
        if self.nodes.len() != other.nodes.len() {
            return Err((TOPOLOGY, 0));
        }
        let places = |graph: &Self, node: &Node| -> Vec<Option<usize>> {
            let place = |handle: &usize| graph.nodes.iter().position(|node| node.handle == *handle);
            let mut places: Vec<_> = node.after.iter().map(place).collect();
            places.sort_unstable();
            places
        };
        for (old, new) in self.nodes.iter().zip(&other.nodes) {
            if places(self, old) != places(other, new) {
                return Err((TOPOLOGY, new.handle));
            }
            if old.task.kind() != new.task.kind() {
                return Err((KIND, new.handle));
            }
        }
        self.nodes.iter_mut().zip(&other.nodes).for_each(|(old, new)| old.task = new.task.clone());
        self.memory.clone_from(&other.memory);
        Ok(())
    }
}

/// A graph that can be launched. Each node is behind those that it comes after.
pub struct Executable {
    pub graph: Arc<Graph>,
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
    /// The streams that are captured: the origin, and those that waited for one of them. With the nodes that their next work
    /// comes after.
    pub streams: HashMap<Key, Vec<usize>>,
    pub order: HappensBefore,
    pub graph: Graph,
    /// Whether nothing has happened that a capture forbids.
    pub valid: bool,
}

impl Capture {
    /// Adds work of one of its streams.
    pub fn add(&mut self, stream: Key, task: Task) -> Result<(), Code> {
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
