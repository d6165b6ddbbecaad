//! Launches of graphs.

use super::Driver;
use crate::objects::codes::{Code, INVALID_HANDLE, INVALID_VALUE};
use crate::objects::graph::{Node, Nodes};
use crate::objects::happens_before::Key;
use std::sync::{Arc, Mutex, PoisonError};

impl Driver {
    /// Runs the work of a graph in a stream of its context.
    pub(crate) fn launch_graph(&mut self, executable: usize, stream: usize) -> Result<(), Code> {
        let key = self.key(stream)?;
        self.checked(key.0)?;
        let executable = self.executables.get(executable).ok_or(INVALID_HANDLE)?;
        if executable.graph.context != key.0 {
            return Err(INVALID_HANDLE);
        }
        let (nodes, frees) = (Arc::clone(&executable.graph.nodes), executable.frees);
        match self.valid_capture(key)? {
            Some(capture) => {
                capture.add(key, Node::Graph(nodes, frees));
                Ok(())
            }
            None => self.run_nodes(&nodes, frees, key),
        }
    }

    fn run_nodes(&mut self, nodes: &Mutex<Nodes>, frees: bool, stream: Key) -> Result<(), Code> {
        let Nodes { work, memory } = nodes.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if !memory.is_empty() {
            self.run_in_order(stream, move |driver, stream| driver.free_left(&memory, frees, stream))?;
        }
        for node in work {
            match node {
                Node::Work(work) => self.run_in_order(stream, move |driver, stream| {
                    let mut work = work.lock().unwrap_or_else(PoisonError::into_inner);
                    work(driver, stream)
                })?,
                Node::Host(function) => self.run_host(stream, function),
                Node::Graph(nodes, frees) => self.run_nodes(&nodes, frees, stream)?,
            }
        }
        Ok(())
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
}
