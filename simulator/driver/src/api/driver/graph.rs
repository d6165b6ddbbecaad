//! Captures of streams, and launches of the graphs that they become.

use crate::api::put;
use crate::objects::codes::{Code, GRAPH_UPDATE_FAILURE, INVALID_HANDLE, INVALID_VALUE, NOT_SUPPORTED};
use crate::objects::driver::{Driver, Executable, Graph};
use crate::objects::graphs::capture::Mode;
use crate::objects::process::call;
use crate::objects::reports::report;
use std::ffi::{c_uint, c_ulonglong};
use std::sync::Arc;

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

/// Makes a graph that can be launched.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphInstantiateWithFlags(executable: *mut usize, graph: usize, flags: c_ulonglong) -> Code {
    call("cuGraphInstantiateWithFlags", |driver| {
        let graph = driver.graphs.get(graph).ok_or(INVALID_HANDLE)?;
        let frees = flags & FREE_ON_LAUNCH != 0;
        if flags > ALL_FLAGS || frees && flags & DEVICE_LAUNCH != 0 {
            return Err(INVALID_VALUE);
        }
        if flags & DEVICE_LAUNCH != 0 {
            report::unsupported("a graph that a kernel launches");
            return Err(NOT_SUPPORTED);
        }
        let new = Executable { graph: Arc::new(graph.sorted().ok_or(INVALID_VALUE)?), frees };
        // SAFETY: the caller's promise.
        unsafe { put(executable, driver.executables.insert(new)) }
    })
}

/// How a graph is made that can be launched, and whether that worked: `CUDA_GRAPH_INSTANTIATE_PARAMS`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct InstantiateParams {
    /// The flags.
    pub flags: c_ulonglong,
    /// A stream to prepare the launch in; unused, as nothing is prepared.
    pub stream: usize,
    /// The node that is to blame; it is not given.
    pub node: usize,
    /// `CUgraphInstantiateResult`.
    pub result: c_uint,
}

/// Makes a graph that can be launched.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphInstantiateWithParams(
    executable: *mut usize,
    graph: usize,
    params: *mut InstantiateParams,
) -> Code {
    if params.is_null() {
        return INVALID_VALUE;
    }
    // SAFETY: not null, and hence the caller's promise.
    let params = unsafe { &mut *params };
    // SAFETY: the caller's promise.
    let code = unsafe { cuGraphInstantiateWithFlags(executable, graph, params.flags) };
    // Success, or an error that the code tells.
    (params.node, params.result) = (0, u32::from(code != 0));
    code
}

/// Makes a graph that can be launched, as before CUDA 12. A log and the node that is to blame are not given.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphInstantiate_v2(
    executable: *mut usize,
    graph: usize,
    node: *mut usize,
    log: *mut u8,
    length: usize,
) -> Code {
    if !node.is_null() {
        // SAFETY: not null, and hence the caller's promise.
        unsafe { node.write(0) };
    }
    if !log.is_null() && length > 0 {
        // SAFETY: not null, and hence the caller's promise.
        unsafe { log.write(0) };
    }
    // SAFETY: the caller's promise.
    unsafe { cuGraphInstantiateWithFlags(executable, graph, 0) }
}

/// How an update went: `CUgraphExecUpdateResultInfo`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UpdateResult {
    /// 0, or in which way the graphs differ.
    pub result: c_uint,
    /// The node that differs.
    pub node: usize,
    /// The beginning of an edge that differs; it is not given.
    pub from: usize,
}

/// Replaces what the nodes of a graph that can be launched do by what those of another graph do, which has the same nodes and edges.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphExecUpdate_v2(executable: usize, graph: usize, info: *mut UpdateResult) -> Code {
    call("cuGraphExecUpdate_v2", |driver| {
        let (result, node) = update(driver, executable, graph)?.err().unwrap_or_default();
        // SAFETY: the caller's promise.
        unsafe { put(info, UpdateResult { result, node, from: 0 })? };
        if result == 0 { Ok(()) } else { Err(GRAPH_UPDATE_FAILURE) }
    })
}

/// The same, as before CUDA 12.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphExecUpdate(
    executable: usize,
    graph: usize,
    node: *mut usize,
    result: *mut c_uint,
) -> Code {
    call("cuGraphExecUpdate", |driver| {
        let (how, which) = update(driver, executable, graph)?.err().unwrap_or_default();
        // SAFETY: the caller's promise.
        unsafe { put(node, which).and_then(|()| put(result, how))? };
        if how == 0 { Ok(()) } else { Err(GRAPH_UPDATE_FAILURE) }
    })
}

fn update(driver: &mut Driver, executable: usize, graph: usize) -> Result<Result<(), (c_uint, usize)>, Code> {
    let new = driver.graphs.get(graph).ok_or(INVALID_HANDLE)?.sorted().ok_or(INVALID_VALUE)?;
    let executable = driver.executables.get_mut(executable).ok_or(INVALID_HANDLE)?;
    let mut updated = Graph::clone(&executable.graph);
    let done = updated.update(&new);
    if done.is_ok() {
        executable.graph = Arc::new(updated);
    }
    Ok(done)
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
