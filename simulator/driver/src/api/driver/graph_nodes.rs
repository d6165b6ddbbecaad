//! Graphs that are built node by node: the nodes.

use super::host::{HostFunction, host};
use crate::api::{all, put};
use crate::objects::codes::{Code, INVALID_HANDLE, INVALID_VALUE};
use crate::objects::driver::{Driver, Graph, Task};
use crate::objects::process::call;
use std::ffi::{c_uint, c_void};
use std::sync::Arc;

pub use crate::objects::memory::region::{Copy3, Fill, Side};

/// Makes an empty graph.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphCreate(graph: *mut usize, flags: c_uint) -> Code {
    call("cuGraphCreate", |driver| {
        driver.current_context()?;
        if flags != 0 {
            return Err(INVALID_VALUE);
        }
        let context = driver.current()?;
        // SAFETY: the caller's promise.
        unsafe { put(graph, driver.graphs.insert(Graph::new(context))) }
    })
}

/// Adds a node that comes after others, and gives its handle.
///
/// # Safety
/// `node` is null or valid for a write, and `after` for reads of `count` handles.
pub(super) unsafe fn add(
    driver: &mut Driver,
    node: *mut usize,
    graph: usize,
    (after, count): (*const usize, usize),
    task: Task,
) -> Result<(), Code> {
    // SAFETY: the caller's promise.
    let after = unsafe { all(after, count)? };
    let graph = driver.graphs.get_mut(graph).ok_or(INVALID_HANDLE)?;
    if node.is_null() {
        return Err(INVALID_VALUE);
    }
    // SAFETY: the caller's promise.
    unsafe { put(node, graph.add(after, task)?) }
}

/// Adds a node that does nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphAddEmptyNode(
    node: *mut usize,
    graph: usize,
    after: *const usize,
    count: usize,
) -> Code {
    // SAFETY: the caller's promise.
    call("cuGraphAddEmptyNode", |driver| unsafe { add(driver, node, graph, (after, count), Task::Empty) })
}

/// Adds a copy, which happens at each launch.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphAddMemcpyNode(
    node: *mut usize,
    graph: usize,
    after: *const usize,
    count: usize,
    copy: *const Copy3,
    context: usize,
) -> Code {
    call("cuGraphAddMemcpyNode", |driver| {
        driver.index(context)?;
        // SAFETY: the caller's promise.
        let copy = unsafe { copy.as_ref() }.copied().ok_or(INVALID_VALUE)?;
        copy.check()?;
        // SAFETY: the caller's promise.
        unsafe { add(driver, node, graph, (after, count), Task::Copy(copy)) }
    })
}

/// Adds a fill, which happens at each launch.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphAddMemsetNode(
    node: *mut usize,
    graph: usize,
    after: *const usize,
    count: usize,
    fill: *const Fill,
    context: usize,
) -> Code {
    call("cuGraphAddMemsetNode", |driver| {
        driver.index(context)?;
        // SAFETY: the caller's promise.
        let fill = unsafe { fill.as_ref() }.copied().ok_or(INVALID_VALUE)?;
        fill.check()?;
        // SAFETY: the caller's promise.
        unsafe { add(driver, node, graph, (after, count), Task::Fill(fill)) }
    })
}

/// A function of the host with its data: `CUDA_HOST_NODE_PARAMS`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct HostParams {
    /// The function.
    pub function: Option<HostFunction>,
    /// Its data.
    pub data: *mut c_void,
}

/// Adds a function of the host, which runs at each launch.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphAddHostNode(
    node: *mut usize,
    graph: usize,
    after: *const usize,
    count: usize,
    params: *const HostParams,
) -> Code {
    call("cuGraphAddHostNode", |driver| {
        if params.is_null() {
            return Err(INVALID_VALUE);
        }
        // SAFETY: not null, and hence the caller's promise.
        let HostParams { function, data } = unsafe { params.read() };
        // SAFETY: the caller's promise.
        unsafe { add(driver, node, graph, (after, count), Task::Host(host(function, data)?)) }
    })
}

/// Adds another graph as it is now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphAddChildGraphNode(
    node: *mut usize,
    graph: usize,
    after: *const usize,
    count: usize,
    child: usize,
) -> Code {
    call("cuGraphAddChildGraphNode", |driver| {
        let child = driver.graphs.get(child).ok_or(INVALID_HANDLE)?.sorted().ok_or(INVALID_VALUE)?;
        // SAFETY: the caller's promise.
        unsafe { add(driver, node, graph, (after, count), Task::Graph(Arc::new(child), false)) }
    })
}

/// Adds a node that records an event.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphAddEventRecordNode(
    node: *mut usize,
    graph: usize,
    after: *const usize,
    count: usize,
    event: usize,
) -> Code {
    call("cuGraphAddEventRecordNode", |driver| {
        driver.event(event)?;
        // SAFETY: the caller's promise.
        unsafe { add(driver, node, graph, (after, count), Task::Record(event)) }
    })
}

/// Adds a node that waits for an event.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphAddEventWaitNode(
    node: *mut usize,
    graph: usize,
    after: *const usize,
    count: usize,
    event: usize,
) -> Code {
    call("cuGraphAddEventWaitNode", |driver| {
        driver.event(event)?;
        // SAFETY: the caller's promise.
        unsafe { add(driver, node, graph, (after, count), Task::Wait(event)) }
    })
}
