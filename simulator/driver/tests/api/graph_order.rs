//! What orders the nodes of a graph, and what does not. Reports go to the error stream, so that each scene has its own process.

use crate::built_graphs::{added, empty, graph, kinds, launch, listed, put};
use crate::graphs::{THREAD_LOCAL, begin, end, instantiate, stream};
use crate::{CAPTURED, said_in, upload, with_device};
use cuda::api::driver::{graph::*, graph_edges::*, graph_nodes::*, stream::*};
use std::ptr;

#[test]
fn events_order_a_graph_and_a_stream() {
    let said = said_in("graph_order::a_stream_waits_for_a_part_of_a_graph");
    assert!(!said.contains("Stream order: `put` writes what `put` writes"), "{said}");
}

#[test]
fn a_stream_waits_for_a_part_of_a_graph() {
    with_device(CAPTURED);
    let (graph, address, [mut before, mut after]) = (graph(), upload(&[0_u32]), [0; 2]);
    let (other, stream) = (stream(), stream());
    assert_eq!(unsafe { cuEventCreate(&raw mut before, 2) | cuEventCreate(&raw mut after, 2) }, 0);
    assert_eq!((crate::graphs::put(address, 1, other), cuEventRecord(before, other)), (0, 0));
    let waited = added(|node| unsafe { cuGraphAddEventWaitNode(node, graph, ptr::null(), 0, before) });
    let stored = put(graph, &[waited], address, 2);
    added(|node| unsafe { cuGraphAddEventRecordNode(node, graph, &raw const stored, 1, after) });
    assert_eq!(kinds(graph), [6, 0, 7]);
    let executable = instantiate(graph, 0).expect("it is valid");
    assert_eq!((cuGraphLaunch(executable, stream), cuStreamWaitEvent(other, after, 0)), (0, 0));
    assert_eq!(crate::graphs::put(address, 3, other), 0);
    assert_eq!(cuStreamSynchronize(other), 0);
}

#[test]
fn nodes_without_a_path_between_them_are_unordered() {
    for (test, is_reported) in [("unordered", true), ("ordered", false), ("captured", true), ("joined", false)] {
        let said = said_in(&format!("graph_order::scene_{test}"));
        assert_eq!(said.contains("Stream order: `put` writes what `put` writes"), is_reported, "{test}: {said}");
    }
}

#[test]
fn scene_unordered() {
    with_device(CAPTURED);
    let (graph, address) = (graph(), upload(&[0_u32]));
    let root = empty(graph, &[]);
    put(graph, &[root], address, 1);
    put(graph, &[root], address, 2);
    launch(graph);
}

#[test]
fn scene_ordered() {
    with_device(CAPTURED);
    let (graph, address, other) = (graph(), upload(&[0_u32]), upload(&[0_u32]));
    let root = put(graph, &[], address, 1);
    let [left, right] = [put(graph, &[root], address, 2), put(graph, &[root], other, 2)];
    let end = empty(graph, &[left, right]);
    put(graph, &[end], address, 3);
    put(graph, &[end], other, 3);
    let (executable, stream) = (instantiate(graph, 0).expect("it is valid"), stream());
    for _ in 0..3 {
        assert_eq!(cuGraphLaunch(executable, stream), 0);
    }
    assert_eq!((crate::graphs::put(address, 4, stream), crate::graphs::put(other, 4, stream)), (0, 0));
}

/// A captured fork whose paths store to two places.
fn fork(places: [u64; 2]) {
    let (origin, other, [mut fork, mut join]) = (begin(THREAD_LOCAL), stream(), [0; 2]);
    assert_eq!(unsafe { cuEventCreate(&raw mut fork, 2) | cuEventCreate(&raw mut join, 2) }, 0);
    assert_eq!((cuEventRecord(fork, origin), cuStreamWaitEvent(other, fork, 0)), (0, 0));
    assert_eq!((crate::graphs::put(places[0], 1, origin), crate::graphs::put(places[1], 2, other)), (0, 0));
    assert_eq!((cuEventRecord(join, other), cuStreamWaitEvent(origin, join, 0)), (0, 0));
    assert_eq!(crate::graphs::put(places[1], 3, origin), 0);
    let graph = end(origin).expect("it is valid");
    assert_eq!(listed(|nodes, count| unsafe { cuGraphGetRootNodes(graph, nodes, count) }).len(), 2);
    launch(graph);
}

#[test]
fn scene_captured() {
    with_device(CAPTURED);
    let address = upload(&[0_u32]);
    fork([address, address]);
}

#[test]
fn scene_joined() {
    with_device(CAPTURED);
    fork([upload(&[0_u32]), upload(&[0_u32])]);
}
