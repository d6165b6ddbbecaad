//! Graphs, whose nodes are work and whose edges order it.

use crate::objects::codes::{Code, INVALID_VALUE};
use crate::objects::kernels::kernel_node::KernelNode;
use crate::objects::memory::region::{Copy3, Fill};
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A function of the host.
#[derive(Clone)]
pub struct Host {
    /// It gets the code of an error of the work before it, or 0.
    pub function: Arc<dyn Fn(Code) + Send + Sync>,
    /// Whether it runs after an error.
    pub after_errors: bool,
}

/// What a node of a graph does. `W` is work of a stream, of which a graph knows nothing.
#[derive(Clone)]
pub enum Task<W> {
    /// What a stream was captured with, and its kind.
    Work(W, u32),
    Kernel(Arc<KernelNode>),
    Copy(Copy3),
    Fill(Fill),
    Host(Host),
    /// Another graph, and whether a launch of it frees what an earlier one has left.
    Graph(Arc<Graph<W>>, bool),
    Empty,
    /// Waits for an event.
    Wait(usize),
    /// Records an event.
    Record(usize),
}

impl<W> Task<W> {
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
pub struct Node<W> {
    pub handle: usize,
    /// The nodes that it comes after.
    pub after: Vec<usize>,
    pub task: Task<W>,
}

/// A graph. Nothing but their edges orders its nodes.
#[derive(Clone)]
pub struct Graph<W> {
    pub context: usize,
    /// In the order in which they were added.
    pub nodes: Vec<Node<W>>,
    /// The memory that it allocates at each launch.
    pub memory: Vec<u64>,
}

impl<W: Clone> Graph<W> {
    pub fn new(context: usize) -> Self {
        Self { context, nodes: Vec::new(), memory: Vec::new() }
    }

    /// Adds a node; gives its handle.
    pub fn add(&mut self, after: &[usize], task: Task<W>) -> Result<usize, Code> {
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

    pub fn node(&self, handle: usize) -> Option<&Node<W>> {
        // A new node is often one that comes after the last.
        self.nodes.iter().rev().find(|node| node.handle == handle)
    }

    pub fn node_mut(&mut self, handle: usize) -> Option<&mut Node<W>> {
        self.nodes.iter_mut().rev().find(|node| node.handle == handle)
    }

    /// Its edges: from, to.
    pub fn edges(&self) -> Vec<[usize; 2]> {
        self.nodes.iter().flat_map(|node| node.after.iter().map(|before| [*before, node.handle])).collect()
    }

    /// The same graph in topological order; `None` if there is a cycle.
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
        let places = |graph: &Self, node: &Node<W>| -> Vec<Option<usize>> {
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

/// A graph that can be launched. Its nodes are in topological order.
pub struct Executable<W> {
    pub graph: Arc<Graph<W>>,
    /// Whether a launch frees what an earlier one has left.
    pub frees: bool,
}
