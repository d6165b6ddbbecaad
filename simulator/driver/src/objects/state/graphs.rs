//! Launches of graphs.

use super::Driver;
use crate::objects::codes::{Code, INVALID_HANDLE, INVALID_VALUE};
use crate::objects::graph::Nodes;
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
        self.submit(key, move |driver, key| driver.run_nodes(&nodes, frees, key))
    }

    fn run_nodes(&mut self, nodes: &Mutex<Nodes>, frees: bool, stream: Key) -> Result<(), Code> {
        let mut nodes = nodes.lock().unwrap_or_else(PoisonError::into_inner);
        for &address in &nodes.memory {
            let device = &mut self.context(stream.0)?.device;
            if device.base(address).is_some() {
                // What an earlier launch has left.
                if !frees || device.free(address).is_err() {
                    return Err(INVALID_VALUE);
                }
                self.happens_before.forget(address);
            }
        }
        nodes.work.iter_mut().try_for_each(|node| node(self, stream))
    }
}
