//! Graphs that are built node by node: their edges, what is in them, and copies of them.

use crate::api::{all, put};
use crate::objects::codes::{Code, INVALID_HANDLE, INVALID_VALUE, NOT_SUPPORTED};
use crate::objects::driver::{Driver, Graph};
use crate::objects::process::call;
use crate::objects::reports::report;
use std::ffi::{c_uint, c_void};

/// Gives lists of handles of one length: their number, if the first is null; else as many as the number says, which becomes
/// that of those that are there. What is left is null.
///
/// # Safety
/// `count` is null or valid, and lists that are not null have as many places as it says.
unsafe fn list<const N: usize>(lists: [*mut usize; N], count: *mut usize, found: &[[usize; N]]) -> Result<(), Code> {
    if count.is_null() || lists[1..].iter().any(|list| list.is_null() != lists[0].is_null()) {
        return Err(INVALID_VALUE);
    }
    if lists[0].is_null() {
        // SAFETY: not null, and hence the caller's promise.
        return unsafe { put(count, found.len()) };
    }
    // SAFETY: not null, and hence the caller's promise.
    let room = unsafe { count.read() };
    for place in 0..room {
        for (at, list) in lists.iter().enumerate() {
            let handle = found.get(place).map_or(0, |row| row[at]);
            // SAFETY: the caller's promise.
            unsafe { put(list.add(place), handle)? };
        }
    }
    // SAFETY: not null, and hence the caller's promise.
    unsafe { put(count, room.min(found.len())) }
}

fn graph(driver: &Driver, handle: usize) -> Result<&Graph, Code> {
    driver.graphs.get(handle).ok_or(INVALID_HANDLE)
}

/// The nodes of a graph.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphGetNodes(graph: usize, nodes: *mut usize, count: *mut usize) -> Code {
    call("cuGraphGetNodes", |driver| {
        let found: Vec<_> = self::graph(driver, graph)?.nodes.iter().map(|node| [node.handle]).collect();
        // SAFETY: the caller's promise.
        unsafe { list([nodes], count, &found) }
    })
}

/// The nodes of a graph that come after no other.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphGetRootNodes(graph: usize, nodes: *mut usize, count: *mut usize) -> Code {
    call("cuGraphGetRootNodes", |driver| {
        let roots = self::graph(driver, graph)?.nodes.iter().filter(|node| node.after.is_empty());
        let found: Vec<_> = roots.map(|node| [node.handle]).collect();
        // SAFETY: the caller's promise.
        unsafe { list([nodes], count, &found) }
    })
}

/// The edges of a graph.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphGetEdges(graph: usize, from: *mut usize, to: *mut usize, count: *mut usize) -> Code {
    call("cuGraphGetEdges", |driver| {
        let found = self::graph(driver, graph)?.edges();
        // SAFETY: the caller's promise.
        unsafe { list([from, to], count, &found) }
    })
}

/// The nodes that a node comes after.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphNodeGetDependencies(node: usize, nodes: *mut usize, count: *mut usize) -> Code {
    call("cuGraphNodeGetDependencies", |driver| {
        let edges = driver.graph_of(node)?.edges().into_iter();
        let found: Vec<_> = edges.filter(|[_, to]| *to == node).map(|[from, _]| [from]).collect();
        // SAFETY: the caller's promise.
        unsafe { list([nodes], count, &found) }
    })
}

/// The nodes that come after a node.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphNodeGetDependentNodes(node: usize, nodes: *mut usize, count: *mut usize) -> Code {
    call("cuGraphNodeGetDependentNodes", |driver| {
        let edges = driver.graph_of(node)?.edges().into_iter();
        let found: Vec<_> = edges.filter(|[from, _]| *from == node).map(|[_, to]| [to]).collect();
        // SAFETY: the caller's promise.
        unsafe { list([nodes], count, &found) }
    })
}

/// What a node does, by its number in `CUgraphNodeType`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphNodeGetType(node: usize, kind: *mut c_uint) -> Code {
    call("cuGraphNodeGetType", |driver| {
        let found = driver.graph_of(node)?.node(node).ok_or(INVALID_VALUE)?.task.kind();
        // SAFETY: the caller's promise.
        unsafe { put(kind, found) }
    })
}

/// Changes edges of a graph: all, or none.
///
/// # Safety
/// Both pointers are valid for reads of `count` handles.
unsafe fn change(
    driver: &mut Driver,
    graph: usize,
    [from, to]: [*const usize; 2],
    count: usize,
    how: fn(&mut Graph, usize, usize) -> Result<(), Code>,
) -> Result<(), Code> {
    let graph = driver.graphs.get_mut(graph).ok_or(INVALID_HANDLE)?;
    // SAFETY: the caller's promise.
    let (from, to) = unsafe { (all(from, count)?, all(to, count)?) };
    let mut changed = graph.clone();
    from.iter().zip(to).try_for_each(|(from, to)| how(&mut changed, *from, *to))?;
    *graph = changed;
    Ok(())
}

/// Adds edges to a graph.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphAddDependencies(
    graph: usize,
    from: *const usize,
    to: *const usize,
    count: usize,
) -> Code {
    // SAFETY: the caller's promise.
    call("cuGraphAddDependencies", |driver| unsafe { change(driver, graph, [from, to], count, Graph::connect) })
}

/// Takes edges out of a graph.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphRemoveDependencies(
    graph: usize,
    from: *const usize,
    to: *const usize,
    count: usize,
) -> Code {
    // SAFETY: the caller's promise.
    call("cuGraphRemoveDependencies", |driver| unsafe { change(driver, graph, [from, to], count, Graph::disconnect) })
}

/// Adds plain edges to a graph: of those that are more, or less, than that, nothing is known here.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphAddDependencies_v2(
    graph: usize,
    from: *const usize,
    to: *const usize,
    data: *const c_void,
    count: usize,
) -> Code {
    if !data.is_null() {
        report::unsupported("the data of edges of a graph");
        return NOT_SUPPORTED;
    }
    // SAFETY: the caller's promise.
    unsafe { cuGraphAddDependencies(graph, from, to, count) }
}

/// The edges of a graph, all of them plain.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphGetEdges_v2(
    graph: usize,
    from: *mut usize,
    to: *mut usize,
    data: *mut u64,
    count: *mut usize,
) -> Code {
    call("cuGraphGetEdges_v2", |driver| {
        let found: Vec<_> = self::graph(driver, graph)?.edges().into_iter().map(|[from, to]| [from, to, 0]).collect();
        // A plain edge is eight zero bytes.
        // SAFETY: the caller's promise.
        if data.is_null() {
            let found: Vec<_> = found.iter().map(|&[from, to, _]| [from, to]).collect();
            return unsafe { list([from, to], count, &found) };
        }
        // SAFETY: the caller's promise.
        unsafe { list([from, to, data.cast()], count, &found) }
    })
}

/// Removes a node from its graph, with its edges.
#[unsafe(no_mangle)]
pub extern "C" fn cuGraphDestroyNode(node: usize) -> Code {
    call("cuGraphDestroyNode", |driver| {
        driver.graph_of(node)?.remove(node);
        Ok(())
    })
}

/// Copies a graph.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphClone(clone: *mut usize, graph: usize) -> Code {
    call("cuGraphClone", |driver| {
        let copy = self::graph(driver, graph)?.copied()?;
        // SAFETY: the caller's promise.
        unsafe { put(clone, driver.graphs.insert(copy)) }
    })
}

/// The copy of a node, whose place is the same. Neither graph may have changed since.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGraphNodeFindInClone(copy: *mut usize, node: usize, clone: usize) -> Code {
    call("cuGraphNodeFindInClone", |driver| {
        let place = driver.graph_of(node)?.nodes.iter().position(|known| known.handle == node).ok_or(INVALID_VALUE)?;
        let found = self::graph(driver, clone)?.nodes.get(place).ok_or(INVALID_VALUE)?.handle;
        // SAFETY: the caller's promise.
        unsafe { put(copy, found) }
    })
}
