//! Graphs: what was captured is launched.

use crate::{CAPTURED, download, function, room, upload, with_device};
use cuda::api::cublas::{cublasCreate_v2, cublasSetStream_v2, products::cublasSgemm_v2};
use cuda::api::driver::context::{cuCtxCreate_v2, cuCtxDestroy_v2};
use cuda::api::driver::{graph::*, graph_edges::*, host::*, launch::cuLaunchKernel, memory::*, stream::*};
use std::ffi::c_void;
use std::ptr;

pub const THREAD_LOCAL: u32 = 1;
pub const INVALIDATED: u32 = 901;

pub fn stream() -> usize {
    let mut stream = 0;
    assert_eq!(unsafe { cuStreamCreate(&raw mut stream, 1) }, 0);
    stream
}

pub fn begin(mode: u32) -> usize {
    let stream = stream();
    assert_eq!(cuStreamBeginCapture_v2(stream, mode), 0);
    stream
}

pub fn end(stream: usize) -> Result<usize, u32> {
    let mut graph = 1;
    match unsafe { cuStreamEndCapture(stream, &raw mut graph) } {
        0 => Ok(graph),
        code => {
            assert_eq!(graph, 0);
            Err(code)
        }
    }
}

pub fn instantiate(graph: usize, flags: u64) -> Result<usize, u32> {
    let mut executable = 0;
    match unsafe { cuGraphInstantiateWithFlags(&raw mut executable, graph, flags) } {
        0 => Ok(executable),
        code => Err(code),
    }
}

pub fn nodes(graph: usize) -> usize {
    let mut count = 0;
    assert_eq!(unsafe { cuGraphGetNodes(graph, ptr::null_mut(), &raw mut count) }, 0);
    count
}

/// Stores a word with a kernel, in a stream.
pub fn put(address: u64, value: u32, stream: usize) -> u32 {
    let values = [(&raw const address).cast(), (&raw const value).cast()];
    unsafe { cuLaunchKernel(function(c"put"), 1, 1, 1, 1, 1, 1, 0, stream, values.as_ptr(), ptr::null()) }
}

#[test]
fn captured_work_runs_at_each_launch_and_not_before() {
    with_device(CAPTURED);
    let (address, mut word) = (upload(&[1_u32, 2, 3, 4]), 7_u32);
    let stream = begin(THREAD_LOCAL);
    assert_eq!(put(address, 9, stream), 0);
    assert_eq!(cuMemsetD8Async(address + 4, 0, 4, stream), 0);
    assert_eq!(cuMemcpyDtoDAsync_v2(address + 8, address, 4, stream), 0);
    assert_eq!(unsafe { cuMemcpyHtoDAsync_v2(address + 12, (&raw const word).cast(), 4, stream) }, 0);
    let graph = end(stream).expect("it is valid");
    assert_eq!(nodes(graph), 4);
    assert_eq!(download(address, 4), Ok(vec![1_u32, 2, 3, 4]));

    let executable = instantiate(graph, 0).expect("it is valid");
    assert_eq!(cuGraphDestroy(graph), 0);
    assert_eq!(cuGraphUpload(executable, stream), 0);
    assert_eq!(cuGraphLaunch(executable, stream), 0);
    assert_eq!(download(address, 4), Ok(vec![9_u32, 0, 9, 7]));
    // The host's memory is read at the launch.
    word = 8;
    assert_eq!(cuGraphLaunch(executable, stream), 0);
    assert_eq!(download(address + 12, 1), Ok(vec![word]));
    assert_eq!(cuGraphExecDestroy(executable), 0);
    assert_eq!(cuGraphLaunch(executable, stream), 400);
}

#[test]
fn a_product_can_be_captured() {
    with_device(CAPTURED);
    let (a, b, c) = (upload(&[2_f32]), upload(&[3_f32]), upload(&[0_f32]));
    let (mut handle, alpha, beta) = (0, 1_f32, 0_f32);
    let stream = begin(THREAD_LOCAL);
    assert_eq!(unsafe { cublasCreate_v2(&raw mut handle) }, 0);
    assert_eq!(cublasSetStream_v2(handle, stream), 0);
    let factors = [(&raw const alpha).cast(), (&raw const beta).cast()];
    assert_eq!(unsafe { cublasSgemm_v2(handle, 0, 0, 1, 1, 1, factors[0], a, 1, b, 1, factors[1], c, 1) }, 0);
    let graph = end(stream).expect("it is valid");
    assert_eq!(download(c, 1), Ok(vec![0_f32]));
    assert_eq!(cuGraphLaunch(instantiate(graph, 0).expect("it is valid"), stream), 0);
    assert_eq!(download(c, 1), Ok(vec![6_f32]));
}

/// Counts its calls.
unsafe extern "C" fn count(calls: *mut c_void) {
    unsafe { *calls.cast::<u32>() += 1 };
}

#[test]
fn a_function_of_the_host_runs_once_or_at_each_launch() {
    with_device(CAPTURED);
    let mut calls = 0_u32;
    let data = (&raw mut calls).cast();
    let at_once = stream();
    assert_eq!(unsafe { cuLaunchHostFunc(at_once, Some(count), data) }, 0);
    assert_eq!((cuStreamSynchronize(at_once), calls), (0, 1));
    let stream = begin(THREAD_LOCAL);
    assert_eq!(unsafe { cuLaunchHostFunc(stream, Some(count), data) }, 0);
    let executable = instantiate(end(stream).expect("it is valid"), 0).expect("it is valid");
    assert_eq!(calls, 1);
    assert_eq!((cuGraphLaunch(executable, stream), cuGraphLaunch(executable, stream)), (0, 0));
    assert_eq!((cuStreamSynchronize(stream), calls), (0, 3));
    assert_eq!(unsafe { cuLaunchHostFunc(stream, None, data) }, 1);
}

#[test]
fn memory_of_a_graph_lives_from_its_allocation_to_its_free() {
    with_device(CAPTURED);
    let kept = upload(&[0_u32]);
    let stream = begin(THREAD_LOCAL);
    let mut address = 0;
    assert_eq!(unsafe { cuMemAllocAsync(&raw mut address, 4, stream) }, 0);
    assert_eq!(put(address, 5, stream), 0);
    assert_eq!(cuMemcpyDtoDAsync_v2(kept, address, 4, stream), 0);
    assert_eq!(cuMemFreeAsync(address, stream), 0);
    let executable = instantiate(end(stream).expect("it is valid"), 0).expect("it is valid");
    assert_eq!(download::<u32>(address, 1), Err(1), "it is not allocated before the launch");
    for _ in 0..2 {
        assert_eq!(cuGraphLaunch(executable, stream), 0);
        assert_eq!(download(kept, 1), Ok(vec![5_u32]));
        assert_eq!(download::<u32>(address, 1), Err(1), "it was freed");
    }
}

#[test]
fn a_launch_is_refused_while_the_memory_of_the_last_one_is_there_unless_it_frees_it() {
    with_device(CAPTURED);
    for (flags, second) in [(0, 1), (1, 0)] {
        let stream = begin(THREAD_LOCAL);
        let mut address = 0;
        assert_eq!(unsafe { cuMemAllocAsync(&raw mut address, 4, stream) }, 0);
        let executable = instantiate(end(stream).expect("it is valid"), flags).expect("it is valid");
        assert_eq!(cuGraphLaunch(executable, stream), 0);
        assert_eq!(cuGraphLaunch(executable, stream), second);
        assert_eq!(cuMemFreeAsync(address, stream), 0);
        assert_eq!(cuGraphLaunch(executable, stream), 0);
    }
}

#[test]
fn a_graph_frees_only_what_it_has_allocated() {
    with_device(CAPTURED);
    let address = upload(&[1_u32]);
    let stream = begin(THREAD_LOCAL);
    assert_eq!(cuMemFreeAsync(address, stream), 1);
    assert_eq!(end(stream), Err(INVALIDATED));
    assert_eq!(download(address, 1), Ok(vec![1_u32]));
}

#[test]
fn a_graph_dies_with_its_context() {
    let _room = room();
    with_device(CAPTURED);
    let mut contexts = [0; 2];
    assert_eq!(unsafe { cuCtxCreate_v2(&raw mut contexts[0], 0, CAPTURED) }, 0);
    let executable = instantiate(end(begin(THREAD_LOCAL)).expect("it is valid"), 0).expect("it is valid");
    assert_eq!(cuCtxDestroy_v2(contexts[0]), 0);
    // It may have the place of the one before.
    assert_eq!(unsafe { cuCtxCreate_v2(&raw mut contexts[1], 0, CAPTURED) }, 0);
    assert_eq!(cuGraphLaunch(executable, stream()), 400);
    assert_eq!(cuCtxDestroy_v2(contexts[1]), 0);
}

#[test]
fn a_graph_takes_the_work_of_another_with_as_many_nodes() {
    with_device(CAPTURED);
    let address = upload(&[0_u32]);
    let graph = |values: &[u32]| {
        let stream = begin(THREAD_LOCAL);
        for &value in values {
            assert_eq!(put(address, value, stream), 0);
        }
        end(stream).expect("it is valid")
    };
    let executable = instantiate(graph(&[1]), 0).expect("it is valid");
    let mut result = UpdateResult { result: 9, node: 0, from: 0 };
    assert_eq!(unsafe { cuGraphExecUpdate_v2(executable, graph(&[2]), &raw mut result) }, 0);
    assert_eq!(result.result, 0);
    assert_eq!(cuGraphLaunch(executable, stream()), 0);
    assert_eq!(download(address, 1), Ok(vec![2_u32]));
    assert_eq!(unsafe { cuGraphExecUpdate_v2(executable, graph(&[2, 3]), &raw mut result) }, 910);
    assert_eq!(result.result, 2);
}
