//! Captures of streams, and launches of the graphs that they become.

use crate::api::put;
use crate::objects::codes::{Code, GRAPH_UPDATE_FAILURE, INVALID_HANDLE, INVALID_VALUE, NOT_SUPPORTED};
use crate::objects::graph::{Executable, Graph, Mode, Nodes};
use crate::objects::process::call;
use crate::objects::report;
use crate::objects::state::Driver;
use std::ffi::{c_uint, c_ulonglong};
use std::sync::{Arc, Mutex, PoisonError};

// The flags of an instantiation.
const FREE_ON_LAUNCH: c_ulonglong = 1;
const DEVICE_LAUNCH: c_ulonglong = 4;
const ALL_FLAGS: c_ulonglong = 15;

/// Begins a capture. Until it ends, work in the stream does not run.
#[unsafe(no_mangle)]
pub extern "C" fn cuStreamBeginCapture_v2(stream: usize, mode: c_uint) -> Code {
    call("cuStreamBeginCapture_v2", |driver| {
        driver.context_of(stream)?;
        let mode = match mode {
            0 => Mode::Global,
            1 => Mode::ThreadLocal,
            2 => Mode::Relaxed,
            _ => return Err(INVALID_VALUE),
        };
        driver.begin_capture(driver.key(stream)?, mode)
    })
}

/// Ends a capture. The graph is null if something invalidated it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamEndCapture(stream: usize, graph: *mut usize) -> Code {
    call("cuStreamEndCapture", |driver| {
        let key = driver.key(stream)?;
        let ended = driver.end_capture(key);
        let handle = ended.map(|ended| driver.graphs.insert(ended));
        // SAFETY: the caller's promise.
        unsafe { put(graph, handle.unwrap_or(0))? };
        handle.map(drop)
    })
}

/// Whether a stream is captured: 0 for no, 1 for yes, 2 if the capture is invalid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamIsCapturing(stream: usize, status: *mut c_uint) -> Code {
    call("cuStreamIsCapturing", |driver| {
        let (found, _) = status_of(driver, stream)?;
        // SAFETY: the caller's promise.
        unsafe { put(status, found) }
    })
}

/// Whether a stream is captured, and the number of its capture. The graph is not known before it ends.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamGetCaptureInfo_v3(
    stream: usize,
    status: *mut c_uint,
    id: *mut c_ulonglong,
    graph: *mut usize,
    dependencies: *mut usize,
    edges: *mut usize,
    count: *mut usize,
) -> Code {
    call("cuStreamGetCaptureInfo_v3", |driver| {
        let (found, number) = status_of(driver, stream)?;
        // SAFETY: the caller's promise.
        unsafe { put(status, found)? };
        if !id.is_null() {
            // SAFETY: the caller's promise.
            unsafe { put(id, number)? };
        }
        for unknown in [graph, dependencies, edges, count].into_iter().filter(|pointer| !pointer.is_null()) {
            // SAFETY: the caller's promise.
            unsafe { put(unknown, 0)? };
        }
        Ok(())
    })
}

fn status_of(driver: &mut Driver, stream: usize) -> Result<(c_uint, c_ulonglong), Code> {
    let key = driver.key(stream)?;
    Ok(driver.capture_of(key).map_or((0, 0), |capture| (if capture.valid { 1 } else { 2 }, capture.id)))
}

/// The number of a graph's nodes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphGetNodes(graph: usize, nodes: *mut usize, count: *mut usize) -> Code {
    call("cuGraphGetNodes", |driver| {
        let graph = driver.graphs.get(graph).ok_or(INVALID_HANDLE)?;
        if !nodes.is_null() {
            report::unsupported("nodes of a graph");
            return Err(NOT_SUPPORTED);
        }
        let found = size(&graph.nodes);
        // SAFETY: the caller's promise.
        unsafe { put(count, found) }
    })
}

fn size(nodes: &Mutex<Nodes>) -> usize {
    nodes.lock().unwrap_or_else(PoisonError::into_inner).work.len()
}

/// Makes a graph that can be launched.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphInstantiateWithFlags(executable: *mut usize, graph: usize, flags: c_ulonglong) -> Code {
    call("cuGraphInstantiateWithFlags", |driver| {
        let &Graph { context, ref nodes } = driver.graphs.get(graph).ok_or(INVALID_HANDLE)?;
        let frees = flags & FREE_ON_LAUNCH != 0;
        if flags > ALL_FLAGS || frees && flags & DEVICE_LAUNCH != 0 {
            return Err(INVALID_VALUE);
        }
        if flags & DEVICE_LAUNCH != 0 {
            report::unsupported("a graph that a kernel launches");
            return Err(NOT_SUPPORTED);
        }
        let new = Executable { graph: Graph { context, nodes: Arc::clone(nodes) }, frees };
        // SAFETY: the caller's promise.
        unsafe { put(executable, driver.executables.insert(new)) }
    })
}

/// Replaces the work of a graph that can be launched by that of another graph with as many nodes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphExecUpdate_v2(executable: usize, graph: usize, result: *mut c_uint) -> Code {
    call("cuGraphExecUpdate_v2", |driver| {
        let new = Arc::clone(&driver.graphs.get(graph).ok_or(INVALID_HANDLE)?.nodes);
        let executable = driver.executables.get_mut(executable).ok_or(INVALID_HANDLE)?;
        let fits = size(&new) == size(&executable.graph.nodes);
        // What the result calls success, and a change of the topology.
        // SAFETY: the caller's promise.
        unsafe { put(result, if fits { 0 } else { 2 })? };
        if !fits {
            return Err(GRAPH_UPDATE_FAILURE);
        }
        executable.graph.nodes = new;
        Ok(())
    })
}

/// Runs the work of a graph in a stream.
#[unsafe(no_mangle)]
pub extern "C" fn cuGraphLaunch(executable: usize, stream: usize) -> Code {
    call("cuGraphLaunch", |driver| driver.launch_graph(executable, stream))
}

/// Prepares a launch. There is nothing to prepare.
#[unsafe(no_mangle)]
pub extern "C" fn cuGraphUpload(executable: usize, stream: usize) -> Code {
    call("cuGraphUpload", |driver| {
        driver.executables.get(executable).ok_or(INVALID_HANDLE)?;
        driver.context_of(stream).map(drop)
    })
}

/// Destroys a graph. Those that were made of it stay.
#[unsafe(no_mangle)]
pub extern "C" fn cuGraphDestroy(graph: usize) -> Code {
    call("cuGraphDestroy", |driver| driver.graphs.remove(graph).map(drop).ok_or(INVALID_HANDLE))
}

/// Destroys a graph that can be launched.
#[unsafe(no_mangle)]
pub extern "C" fn cuGraphExecDestroy(executable: usize) -> Code {
    call("cuGraphExecDestroy", |driver| driver.executables.remove(executable).map(drop).ok_or(INVALID_HANDLE))
}
