//! Graphs that are built node by node: kernels, and what changes in them.

use super::graph_nodes::add;
use crate::api::put;
use crate::objects::codes::{Code, INVALID_HANDLE, INVALID_VALUE, NOT_SUPPORTED};
use crate::objects::driver::{Driver, Task};
use crate::objects::kernels::kernel_node::{KernelNode, Size};
use crate::objects::process::call;
use crate::objects::reports::report;
use std::ffi::{c_uint, c_void};
use std::ptr;
use std::sync::Arc;

/// A kernel and how it is launched: `CUDA_KERNEL_NODE_PARAMS_v1`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct OldKernelParams {
    /// The kernel.
    pub function: usize,
    /// Blocks of the grid.
    pub grid: [c_uint; 3],
    /// Threads of a block.
    pub block: [c_uint; 3],
    /// Bytes of dynamic shared memory.
    pub shared: c_uint,
    /// The addresses of the parameters.
    pub values: *const *const c_void,
    /// Must be null: the parameters in another form.
    pub extra: *const c_void,
}

/// The same since CUDA 12: `CUDA_KERNEL_NODE_PARAMS_v2`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct KernelParams {
    /// What it was before.
    pub old: OldKernelParams,
    /// Must be null: a kernel of a library.
    pub kernel: usize,
    /// The context of that.
    pub context: usize,
}

/// The kernel that these parameters describe.
///
/// # Safety
/// `params` is null or valid for a read, and its values are as for a launch.
unsafe fn kernel(driver: &mut Driver, params: *const OldKernelParams) -> Result<Arc<KernelNode>, Code> {
    if params.is_null() {
        return Err(INVALID_VALUE);
    }
    // SAFETY: not null, and hence the caller's promise.
    let OldKernelParams { function, grid, block, shared, values, extra } = unsafe { params.read() };
    if !extra.is_null() {
        report::unsupported("the argument `extra` of a kernel in a graph");
        return Err(NOT_SUPPORTED);
    }
    let size = Size { grid, block, shared, is_cooperative: false };
    // SAFETY: the caller's promise.
    unsafe { driver.kernel_node(function, size, values).map(Arc::new) }
}

/// Adds a kernel. Its parameters are read now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphAddKernelNode(
    node: *mut usize,
    graph: usize,
    after: *const usize,
    count: usize,
    params: *const OldKernelParams,
) -> Code {
    call("cuGraphAddKernelNode", |driver| {
        // SAFETY: the caller's promise.
        let kernel = unsafe { kernel(driver, params)? };
        if driver.graphs.get(graph).ok_or(INVALID_HANDLE)?.context != kernel.context {
            return Err(INVALID_VALUE);
        }
        // SAFETY: the caller's promise.
        unsafe { add(driver, node, graph, (after, count), Task::Kernel(kernel)) }
    })
}

/// Adds a kernel. Its parameters are read now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphAddKernelNode_v2(
    node: *mut usize,
    graph: usize,
    after: *const usize,
    count: usize,
    params: *const KernelParams,
) -> Code {
    // SAFETY: the caller's promise; the one begins with the other.
    unsafe { cuGraphAddKernelNode(node, graph, after, count, params.cast()) }
}

/// The kernel of a node. The values stay where they are until the node changes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphKernelNodeGetParams(node: usize, params: *mut OldKernelParams) -> Code {
    call("cuGraphKernelNodeGetParams", |driver| {
        let Some(Task::Kernel(kernel)) = driver.graph_of(node)?.node(node).map(|node| &node.task) else {
            return Err(INVALID_VALUE);
        };
        let Size { grid, block, shared, .. } = kernel.size;
        let (function, values, extra) = (kernel.function, kernel.values.as_ptr().cast(), ptr::null());
        // SAFETY: the caller's promise.
        unsafe { put(params, OldKernelParams { function, grid, block, shared, values, extra }) }
    })
}

/// The same.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphKernelNodeGetParams_v2(node: usize, params: *mut KernelParams) -> Code {
    if params.is_null() {
        return INVALID_VALUE;
    }
    // SAFETY: not null, and hence the caller's promise.
    unsafe {
        (&raw mut (*params).kernel).write(0);
        (&raw mut (*params).context).write(0);
        cuGraphKernelNodeGetParams(node, params.cast())
    }
}

/// Changes the kernel of a node. Graphs that were made to be launched stay as they are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphKernelNodeSetParams(node: usize, params: *const OldKernelParams) -> Code {
    call("cuGraphKernelNodeSetParams", |driver| {
        // SAFETY: the caller's promise.
        let kernel = unsafe { kernel(driver, params)? };
        let graph = driver.graph_of(node)?;
        let node = graph.node_mut(node).filter(|node| matches!(node.task, Task::Kernel(_))).ok_or(INVALID_VALUE)?;
        node.task = Task::Kernel(kernel);
        Ok(())
    })
}

/// The same.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphKernelNodeSetParams_v2(node: usize, params: *const KernelParams) -> Code {
    // SAFETY: the caller's promise; the one begins with the other.
    unsafe { cuGraphKernelNodeSetParams(node, params.cast()) }
}

/// Changes the kernel of a node in a graph that was made to be launched. The node is that of the graph that it was made of.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphExecKernelNodeSetParams(
    executable: usize,
    node: usize,
    params: *const OldKernelParams,
) -> Code {
    call("cuGraphExecKernelNodeSetParams", |driver| {
        // SAFETY: the caller's promise.
        let kernel = unsafe { kernel(driver, params)? };
        let executable = driver.executables.get_mut(executable).ok_or(INVALID_HANDLE)?;
        let node = Arc::make_mut(&mut executable.graph).node_mut(node).ok_or(INVALID_VALUE)?;
        // The function may be another, but not its context.
        match &mut node.task {
            Task::Kernel(old) if old.context == kernel.context => {
                *old = kernel;
                Ok(())
            }
            _ => Err(INVALID_VALUE),
        }
    })
}

/// The same.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphExecKernelNodeSetParams_v2(
    executable: usize,
    node: usize,
    params: *const KernelParams,
) -> Code {
    // SAFETY: the caller's promise; the one begins with the other.
    unsafe { cuGraphExecKernelNodeSetParams(executable, node, params.cast()) }
}
