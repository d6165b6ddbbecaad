//! Launches of graphs. A path of nodes runs as work of a stream. Where paths part, there are more streams, since nothing orders their
//! work.

pub mod capture;
pub mod captures;
pub mod graph;

use crate::objects::codes::{Code, INVALID_HANDLE, INVALID_VALUE};
use crate::objects::driver::{Driver, Graph, Task};
use crate::objects::memory;
use crate::objects::memory::region::{Copy3, Fill};
use crate::objects::streams::happens_before::{Clock, Key};
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::{Arc, PoisonError};
use std::time::Instant;

/// The streams of a launch: where each node ran, and the last node of each.
struct Paths {
    first: Key,
    places: HashMap<usize, (Key, Clock)>,
    ends: HashMap<Key, usize>,
}

impl Driver {
    /// The graph of a node.
    pub(crate) fn graph_of(&mut self, node: usize) -> Result<&mut Graph, Code> {
        self.graphs.find_mut(|graph| graph.node(node).is_some()).ok_or(INVALID_VALUE)
    }

    /// Runs the work of a graph in a stream of its context.
    pub(crate) fn launch_graph(&mut self, executable: usize, stream: usize) -> Result<(), Code> {
        let key = self.key(stream)?;
        self.checked(key.0)?;
        let executable = self.executables.get(executable).ok_or(INVALID_HANDLE)?;
        if executable.graph.context != key.0 {
            return Err(INVALID_HANDLE);
        }
        let (graph, frees) = (Arc::clone(&executable.graph), executable.frees);
        match self.valid_capture(key)? {
            Some(capture) => capture.add(key, Task::Graph(graph, frees)),
            None => self.run_graph(&graph, frees, key),
        }
    }

    fn run_graph(&mut self, graph: &Arc<Graph>, frees: bool, key: Key) -> Result<(), Code> {
        if !graph.memory.is_empty() {
            let graph = Arc::clone(graph);
            self.run_in_order(key, move |driver, key| driver.free_left(&graph.memory, frees, key))?;
        }
        let begin = self.known(key);
        let mut paths = Paths { first: key, places: HashMap::new(), ends: HashMap::new() };
        for node in &graph.nodes {
            let stream = self.path(&paths, &node.after);
            if node.after.is_empty() {
                self.happens_before.wait(stream, &begin);
            }
            for before in &node.after {
                self.happens_before.wait(stream, &paths.places[before].1);
            }
            self.run_task(&node.task, stream)?;
            paths.places.insert(node.handle, (stream, self.happens_before.recorded(stream)));
            paths.ends.insert(stream, node.handle);
        }
        for stream in paths.ends.into_keys() {
            let end = self.happens_before.recorded(stream);
            self.happens_before.wait(key, &end);
        }
        Ok(())
    }

    /// The stream of a node: that of a node before it if nothing else continued that, or a new one.
    fn path(&mut self, paths: &Paths, after: &[usize]) -> Key {
        let continued = after.iter().find(|node| paths.ends.get(&paths.places[*node].0) == Some(node));
        match continued {
            Some(node) => paths.places[node].0,
            None if !paths.ends.contains_key(&paths.first) && after.is_empty() => paths.first,
            None => self.happens_before.branch(paths.first, paths.ends.len()),
        }
    }

    fn run_task(&mut self, task: &Task, stream: Key) -> Result<(), Code> {
        match task.clone() {
            Task::Work(work, _) => self.run_in_order(stream, move |driver, stream| {
                let mut work = work.lock().unwrap_or_else(PoisonError::into_inner);
                work(driver, stream)
            }),
            Task::Kernel(kernel) => self.run_in_order(stream, move |driver, stream| driver.execute(&kernel, stream)),
            Task::Copy(copy) => self.run_in_order(stream, move |driver, stream| driver.copy_now(&copy, stream)),
            Task::Fill(fill) => self.run_in_order(stream, move |driver, stream| driver.fill_now(&fill, stream)),
            Task::Host(function) => {
                self.run_host(stream, function);
                Ok(())
            }
            Task::Graph(graph, frees) => self.run_graph(&graph, frees, stream),
            Task::Empty => Ok(()),
            Task::Wait(event) => {
                let after = self.event(event)?.after.clone();
                self.happens_before.wait(stream, &after);
                Ok(())
            }
            Task::Record(event) => {
                let after = self.known(stream);
                let event = self.event(event)?;
                (event.after, event.captured, event.is_recorded) = (after, None, true);
                event.recorded = event.timing.then(Instant::now);
                Ok(())
            }
        }
    }

    /// Frees the memory that an earlier launch has left, if the launch is to.
    fn free_left(&mut self, memory: &[u64], frees: bool, stream: Key) -> Result<(), Code> {
        for &address in memory {
            let device = &mut self.context(stream.0)?.device;
            if device.base(address).is_some() {
                // What an earlier launch has left.
                if !frees || device.free(address).is_err() {
                    return Err(INVALID_VALUE);
                }
                self.happens_before.forget(address);
            }
        }
        Ok(())
    }

    /// Copies, line by line.
    pub(super) fn copy_now(&mut self, copy: &Copy3, stream: Key) -> Result<(), Code> {
        let Copy3 { from, to, size: [width, lines, planes] } = copy;
        for plane in 0..*planes {
            for line in 0..*lines {
                let (to, from) = (to.line(line, plane), from.line(line, plane));
                // SAFETY: the caller who added the node promised it.
                unsafe { self.copy_line(to, from, *width, stream)? };
            }
        }
        Ok(())
    }

    /// Copies between any memory.
    ///
    /// # Safety
    /// What is of the host is valid for a read or write of `bytes` bytes.
    unsafe fn copy_line(&mut self, to: u64, from: u64, bytes: usize, key: Key) -> Result<(), Code> {
        let calling = self.calling;
        let of_device = |address| self.contexts.iter().flatten().any(|context| context.device.owns(address));
        let host = |address: u64| std::ptr::with_exposed_provenance_mut::<c_void>(address as usize);
        memory::check_host(from, bytes).and_then(|()| memory::check_host(to, bytes))?;
        match (of_device(to), of_device(from)) {
            (true, true) => self.copy_within(to, from, bytes, key, calling),
            // SAFETY: the caller's promise.
            (true, false) => unsafe { self.upload_now(to, host(from), bytes, key, calling) },
            // SAFETY: the caller's promise.
            (false, true) => unsafe { self.download_now(host(to), from, bytes, key, calling) },
            (false, false) => {
                if self.checked(key.0)?.working().is_some() {
                    // SAFETY: the caller's promise.
                    unsafe { std::ptr::copy(host(from), host(to), bytes) };
                }
                Ok(())
            }
        }
    }

    /// Fills, line by line.
    pub(super) fn fill_now(&mut self, fill: &Fill, stream: Key) -> Result<(), Code> {
        let calling = self.calling;
        let value = &fill.value.to_le_bytes()[..fill.element as usize];
        for line in 0..fill.height {
            let to = fill.to.wrapping_add((line * fill.pitch) as u64);
            self.fill_line(to, value, fill.width * value.len(), stream, calling)?;
        }
        Ok(())
    }
}
