//! Graphs that are built node by node.

use crate::graphs::{instantiate, stream};
use crate::{CAPTURED, allocate, download, function, upload, with_device};
use cuda::api::driver::{context::*, graph::*, graph_edges::*, graph_kernels::*, graph_nodes::*, stream::*};
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

const HOST: u32 = 1;
const DEVICE: u32 = 2;

pub fn graph() -> usize {
    let mut graph = 0;
    assert_eq!(unsafe { cuGraphCreate(&raw mut graph, 0) }, 0);
    graph
}

/// A node that a function adds.
pub fn added(add: impl FnOnce(*mut usize) -> u32) -> usize {
    let mut node = 0;
    assert_eq!(add(&raw mut node), 0);
    node
}

/// The kernel that stores a word; its parameters are read when they are given.
fn with_put<T>(address: u64, value: u32, give: impl FnOnce(&KernelParams) -> T) -> T {
    let values: [*const c_void; 2] = [(&raw const address).cast(), (&raw const value).cast()];
    let (function, grid, block, values, extra) = (function(c"put"), [1; 3], [1; 3], values.as_ptr(), ptr::null());
    let old = OldKernelParams { function, grid, block, shared: 0, values, extra };
    give(&KernelParams { old, kernel: 0, context: 0 })
}

pub fn put(graph: usize, after: &[usize], address: u64, value: u32) -> usize {
    let (first, count) = (after.as_ptr(), after.len());
    with_put(address, value, |with| added(|node| unsafe { cuGraphAddKernelNode_v2(node, graph, first, count, with) }))
}

fn side(kind: u32, address: u64) -> Side {
    let (host, device) = if kind == HOST { (address as usize, 0) } else { (0, address) };
    Side { at: [0; 4], kind, host, device, array: 0, reserved: 0, pitch: 0, height: 0 }
}

fn copy(graph: usize, after: &[usize], to: Side, from: Side, size: [usize; 3]) -> usize {
    let (first, count, copy) = (after.as_ptr(), after.len(), Copy3 { from, to, size });
    let mut context = 0;
    assert_eq!(unsafe { cuCtxGetCurrent(&raw mut context) }, 0);
    added(|node| unsafe { cuGraphAddMemcpyNode(node, graph, first, count, &raw const copy, context) })
}

fn fill(graph: usize, after: &[usize], to: u64, value: u32, width: usize) -> usize {
    let fill = Fill { to, pitch: 0, value, element: 4, width, height: 1 };
    let (first, count, mut context) = (after.as_ptr(), after.len(), 0);
    assert_eq!(unsafe { cuCtxGetCurrent(&raw mut context) }, 0);
    added(|node| unsafe { cuGraphAddMemsetNode(node, graph, first, count, &raw const fill, context) })
}

pub fn empty(graph: usize, after: &[usize]) -> usize {
    added(|node| unsafe { cuGraphAddEmptyNode(node, graph, after.as_ptr(), after.len()) })
}

pub fn launch(graph: usize) {
    let (executable, stream) = (instantiate(graph, 0).expect("it is valid"), stream());
    assert_eq!((cuGraphLaunch(executable, stream), cuStreamSynchronize(stream)), (0, 0));
}

/// What a function lists.
pub fn listed(list: impl Fn(*mut usize, *mut usize) -> u32) -> Vec<usize> {
    let mut count = 0;
    assert_eq!(list(ptr::null_mut(), &raw mut count), 0);
    let mut found = vec![0; count];
    assert_eq!(list(found.as_mut_ptr(), &raw mut count), 0);
    assert_eq!(count, found.len());
    found
}

pub fn kinds(graph: usize) -> Vec<u32> {
    let nodes = listed(|nodes, count| unsafe { cuGraphGetNodes(graph, nodes, count) });
    let kind = |node: usize| {
        let mut kind = 99;
        assert_eq!(unsafe { cuGraphNodeGetType(node, &raw mut kind) }, 0);
        kind
    };
    nodes.into_iter().map(kind).collect()
}

#[test]
fn nodes_run_in_the_order_of_their_edges() {
    unsafe extern "C" fn double(word: *mut c_void) {
        let word = unsafe { &*word.cast::<AtomicU32>() };
        word.store(2 * word.load(Ordering::SeqCst), Ordering::SeqCst);
    }
    with_device(CAPTURED);
    let (graph, address, kept) = (graph(), upload(&[9_u32; 2]), AtomicU32::new(0));
    let host = (&raw const kept).expose_provenance() as u64;
    let filled = fill(graph, &[], address, 3, 2);
    let stored = put(graph, &[filled], address + 4, 5);
    let copied = copy(graph, &[stored], side(HOST, host), side(DEVICE, address + 4), [4, 1, 1]);
    let params = HostParams { function: Some(double), data: (&raw const kept).cast_mut().cast() };
    added(|node| unsafe { cuGraphAddHostNode(node, graph, &raw const copied, 1, &raw const params) });
    assert_eq!(kinds(graph), [2, 0, 1, 3]);
    launch(graph);
    assert_eq!((download(address, 2), kept.load(Ordering::SeqCst)), (Ok(vec![3_u32, 5]), 10));
}

#[test]
fn an_edge_may_lead_to_a_node_that_was_added_before_but_not_in_a_circle() {
    with_device(CAPTURED);
    let (graph, address) = (graph(), upload(&[0_u32]));
    let (second, first) = (put(graph, &[], address, 2), put(graph, &[], address, 1));
    let connect = |from: usize, to: usize| unsafe { cuGraphAddDependencies(graph, &raw const from, &raw const to, 1) };
    assert_eq!((connect(first, second), connect(first, second), connect(first, first)), (0, 1, 1));
    launch(graph);
    assert_eq!(download(address, 1), Ok(vec![2_u32]));
    assert_eq!(connect(second, first), 0);
    assert_eq!(instantiate(graph, 0), Err(1));
    assert_eq!(unsafe { cuGraphRemoveDependencies(graph, &raw const second, &raw const first, 1) }, 0);
    assert!(instantiate(graph, 0).is_ok());
    assert_eq!(unsafe { cuGraphRemoveDependencies(graph, &raw const second, &raw const first, 1) }, 1);
    let unplain = [1_u64].as_ptr().cast();
    assert_eq!(unsafe { cuGraphAddDependencies_v2(graph, &raw const second, &raw const first, unplain, 1) }, 801);
}

#[test]
fn a_graph_tells_its_nodes_and_edges() {
    with_device(CAPTURED);
    let graph = graph();
    let root = empty(graph, &[]);
    let [left, right] = [empty(graph, &[root]), empty(graph, &[root])];
    let end = empty(graph, &[left, right]);
    let (mut from, mut to, mut data, mut count) = ([9; 5], [9; 5], [9; 5], 5);
    unsafe {
        assert_eq!(listed(|nodes, count| cuGraphGetNodes(graph, nodes, count)), [root, left, right, end]);
        assert_eq!(listed(|nodes, count| cuGraphGetRootNodes(graph, nodes, count)), [root]);
        assert_eq!(listed(|nodes, count| cuGraphNodeGetDependencies(end, nodes, count)), [left, right]);
        assert_eq!(listed(|nodes, count| cuGraphNodeGetDependentNodes(root, nodes, count)), [left, right]);
        assert_eq!(cuGraphGetEdges(graph, from.as_mut_ptr(), to.as_mut_ptr(), &raw mut count), 0);
        assert_eq!((from, to, count), ([root, root, left, right, 0], [left, right, end, end, 0], 4));
        let edges = [&mut from, &mut to].map(|list| list.as_mut_ptr());
        assert_eq!(cuGraphGetEdges_v2(graph, edges[0], edges[1], data.as_mut_ptr(), &raw mut count), 0);
        assert_eq!(data, [0, 0, 0, 0, 9]);
        assert_eq!(cuGraphGetEdges(graph, edges[0], ptr::null_mut(), &raw mut count), 1);
    }
    assert_eq!(cuGraphDestroyNode(left), 0);
    assert_eq!(listed(|nodes, count| unsafe { cuGraphNodeGetDependencies(end, nodes, count) }), [right]);
    assert_eq!((cuGraphDestroyNode(left), unsafe { cuGraphNodeGetType(left, &mut 0) }), (1, 1));
}

#[test]
fn a_clone_is_a_graph_of_its_own() {
    with_device(CAPTURED);
    let (graph, address) = (graph(), upload(&[0_u32]));
    let first = put(graph, &[], address, 1);
    put(graph, &[first], address, 2);
    let (mut clone, mut copy) = (0, 0);
    assert_eq!(unsafe { cuGraphClone(&raw mut clone, graph) }, 0);
    assert_eq!(unsafe { cuGraphNodeFindInClone(&raw mut copy, first, clone) }, 0);
    assert_ne!(copy, first);
    put(graph, &[], address, 3);
    assert_eq!((kinds(graph).len(), kinds(clone).len()), (3, 2));
    assert_eq!(cuGraphDestroy(graph), 0);
    launch(clone);
    assert_eq!(download(address, 1), Ok(vec![2_u32]));
}

#[test]
fn a_kernel_of_a_graph_can_change() {
    with_device(CAPTURED);
    let (graph, address) = (graph(), upload(&[0_u32]));
    let node = put(graph, &[], address, 1);
    let (executable, stream) = (instantiate(graph, 0).expect("it is valid"), stream());
    let launched = || {
        assert_eq!((cuGraphLaunch(executable, stream), cuStreamSynchronize(stream)), (0, 0));
        download::<u32>(address, 1).map(|words| words[0])
    };
    assert_eq!(with_put(address, 2, |with| unsafe { cuGraphKernelNodeSetParams_v2(node, with) }), 0);
    assert_eq!(launched(), Ok(1), "it was made before");
    let set = |with: &KernelParams| unsafe { cuGraphExecKernelNodeSetParams_v2(executable, node, with) };
    assert_eq!(with_put(address, 3, set), 0);
    assert_eq!(launched(), Ok(3));
    let mut info = UpdateResult { result: 9, node: 9, from: 9 };
    assert_eq!(unsafe { cuGraphExecUpdate_v2(executable, graph, &raw mut info) }, 0);
    assert_eq!((info, launched()), (UpdateResult { result: 0, node: 0, from: 0 }, Ok(2)));

    let mut read = with_put(0, 0, |with| *with);
    assert_eq!(unsafe { cuGraphKernelNodeGetParams_v2(node, &raw mut read) }, 0);
    let values: [*const u32; 2] = unsafe { [*read.old.values, *read.old.values.add(1)] }.map(<*const c_void>::cast);
    assert_eq!((read.old.grid, unsafe { values[1].read() }), ([1; 3], 2));
    assert_eq!(unsafe { values[0].cast::<u64>().read_unaligned() }, address);
    let none = empty(graph, &[]);
    assert_eq!(unsafe { cuGraphKernelNodeGetParams_v2(none, &raw mut read) }, 1);
    assert_eq!(with_put(address, 2, |with| unsafe { cuGraphKernelNodeSetParams_v2(none, with) }), 1);
}

#[test]
fn an_update_says_how_graphs_differ() {
    with_device(CAPTURED);
    let [old, longer, other, unordered] = [graph(), graph(), graph(), graph()];
    let first = empty(old, &[]);
    empty(old, &[first]);
    let first = empty(longer, &[]);
    empty(longer, &[first]);
    empty(longer, &[]);
    let first = empty(other, &[]);
    let differs = put(other, &[first], allocate(4), 1);
    empty(unordered, &[]);
    let alone = empty(unordered, &[]);
    let executable = instantiate(old, 0).expect("it is valid");
    for (new, result, node) in [(longer, 2, 0), (other, 3, differs), (unordered, 2, alone)] {
        let (mut info, mut old_form) = (UpdateResult { result: 0, node: 0, from: 0 }, (0, 0));
        assert_eq!(unsafe { cuGraphExecUpdate_v2(executable, new, &raw mut info) }, 910);
        assert_eq!((info.result, info.node), (result, node));
        assert_eq!(unsafe { cuGraphExecUpdate(executable, new, &raw mut old_form.0, &raw mut old_form.1) }, 910);
        assert_eq!(old_form, (node, result));
    }
}

#[test]
fn a_graph_is_part_of_another_as_it_was() {
    with_device(CAPTURED);
    let (child, parent, address) = (graph(), graph(), upload(&[0_u32; 2]));
    put(child, &[], address, 4);
    let node = added(|node| unsafe { cuGraphAddChildGraphNode(node, parent, ptr::null(), 0, child) });
    copy(parent, &[node], side(DEVICE, address + 4), side(4, address), [4, 1, 1]);
    put(child, &[], address, 5);
    assert_eq!(cuGraphDestroy(child), 0);
    let mut params = InstantiateParams { flags: 0, stream: 0, node: 9, result: 9 };
    let (mut executable, stream) = (0, stream());
    assert_eq!(unsafe { cuGraphInstantiateWithParams(&raw mut executable, parent, &raw mut params) }, 0);
    assert_eq!((params.node, params.result), (0, 0));
    assert_eq!((cuGraphLaunch(executable, stream), cuStreamSynchronize(stream)), (0, 0));
    assert_eq!((download(address, 2), kinds(parent)), (Ok(vec![4_u32, 4]), vec![4, 1]));
}

#[test]
fn a_copy_has_lines_and_planes() {
    with_device(CAPTURED);
    let words: Vec<u32> = (0..24).collect();
    let (graph, from, to) = (graph(), upload(&words), upload(&[99_u32; 8]));
    // Two planes of three lines of four words; of each plane the second and third line, without their first and last word.
    let from = Side { at: [4, 1, 0, 0], pitch: 16, height: 3, ..side(DEVICE, from) };
    copy(graph, &[], Side { pitch: 8, height: 2, ..side(DEVICE, to) }, from, [8, 2, 2]);
    launch(graph);
    assert_eq!(download(to, 8), Ok(vec![5_u32, 6, 9, 10, 17, 18, 21, 22]));
}

#[test]
fn what_is_no_graph_or_node_is_refused() {
    let context = with_device(CAPTURED);
    let (graph, mut node, mut made) = (graph(), 0, 0);
    let foreign = empty(self::graph(), &[]);
    let bad = Copy3 { from: side(3, 0), to: side(DEVICE, 0), size: [4, 1, 1] };
    let fill = Fill { to: 1, pitch: 0, value: 0, element: 4, width: 1, height: 1 };
    unsafe {
        assert_eq!(cuGraphCreate(&raw mut made, 1), 1);
        assert_eq!(cuGraphAddEmptyNode(&raw mut node, 7, ptr::null(), 0), 400);
        assert_eq!(cuGraphAddEmptyNode(&raw mut node, graph, ptr::null(), 1), 1);
        assert_eq!(cuGraphAddEmptyNode(&raw mut node, graph, &raw const foreign, 1), 1);
        assert_eq!(cuGraphAddMemcpyNode(&raw mut node, graph, ptr::null(), 0, &raw const bad, context), 801);
        assert_eq!(cuGraphAddMemsetNode(&raw mut node, graph, ptr::null(), 0, &raw const fill, context), 1);
        assert_eq!(cuGraphAddHostNode(&raw mut node, graph, ptr::null(), 0, ptr::null()), 1);
        assert_eq!(cuGraphAddChildGraphNode(&raw mut node, graph, ptr::null(), 0, 7), 400);
        assert_eq!(cuGraphAddEventRecordNode(&raw mut node, graph, ptr::null(), 0, 7), 400);
    }
    assert_eq!(kinds(graph), Vec::<u32>::new());
}
