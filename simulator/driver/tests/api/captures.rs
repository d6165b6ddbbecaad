//! Captures of streams: what they forbid, and what they take in.

use crate::graphs::{INVALIDATED, THREAD_LOCAL, begin, end, instantiate, nodes, put, stream};
use crate::{CAPTURED, download, upload, with_device};
use cuda::api::driver::{context::*, graph::*, memory::*, stream::*};

const RELAXED: u32 = 2;
const UNSUPPORTED: u32 = 900;

fn event() -> usize {
    let mut event = 0;
    assert_eq!(unsafe { cuEventCreate(&raw mut event, 2) }, 0);
    event
}

/// Runs something that concerns all captures of a context.
fn in_own_context(run: impl FnOnce()) {
    let mut context = 0;
    assert_eq!(unsafe { cuCtxCreate_v2(&raw mut context, 0, CAPTURED) }, 0);
    run();
    assert_eq!(cuCtxDestroy_v2(context), 0);
}

#[test]
fn a_stream_that_waits_for_captured_work_is_captured_and_must_be_waited_for() {
    with_device(CAPTURED);
    let address = upload(&[0_u32; 2]);
    for is_joined in [true, false] {
        let (origin, other, fork, join) = (begin(THREAD_LOCAL), stream(), event(), event());
        assert_eq!(put(address, 1, origin), 0);
        assert_eq!(cuEventRecord(fork, origin), 0);
        assert_eq!(cuStreamWaitEvent(other, fork, 0), 0);
        assert_eq!(put(address + 4, 2, other), 0);
        assert_eq!(end(other), Err(903), "the capture did not begin there");
        if is_joined {
            assert_eq!(cuEventRecord(join, other), 0);
            assert_eq!(cuStreamWaitEvent(origin, join, 0), 0);
        }
        let graph = end(origin);
        assert_eq!(graph.map(nodes), if is_joined { Ok(2) } else { Err(904) });
    }
    assert_eq!(download(address, 2), Ok(vec![0_u32; 2]));
}

#[test]
fn waiting_ends_a_capture() {
    with_device(CAPTURED);
    // An `extern` function is no `fn`.
    let waits: [fn(usize) -> u32; 4] = [
        |stream| cuStreamSynchronize(stream),
        |stream| cuStreamQuery(stream),
        |_| cuCtxSynchronize(),
        |_| unsafe { cuMemAlloc_v2(&mut 0, 4) },
    ];
    for wait in waits {
        in_own_context(|| {
            let stream = begin(THREAD_LOCAL);
            assert_eq!(wait(stream), UNSUPPORTED);
            let mut status = 0;
            assert_eq!(unsafe { cuStreamIsCapturing(stream, &raw mut status) }, 0);
            assert_eq!(status, 2);
            assert_eq!(cuMemsetD8Async(8, 0, 4, stream), INVALIDATED);
            assert_eq!(end(stream), Err(INVALIDATED));
        });
    }
}

#[test]
fn a_relaxed_capture_lets_its_thread_allocate() {
    with_device(CAPTURED);
    let stream = begin(RELAXED);
    assert_eq!(unsafe { cuMemAlloc_v2(&mut 0, 4) }, 0);
    assert!(end(stream).is_ok());
}

#[test]
fn an_event_of_a_capture_cannot_be_waited_for() {
    with_device(CAPTURED);
    let (stream, event) = (begin(THREAD_LOCAL), event());
    assert_eq!(cuEventRecord(event, stream), 0);
    assert_eq!(cuEventQuery(event), 907);
    assert_eq!(end(stream), Err(INVALIDATED));
    assert_eq!(cuEventSynchronize(event), 907);
    assert_eq!(cuEventRecord(event, stream), 0);
    assert_eq!(cuEventSynchronize(event), 0);
}

#[test]
fn captured_work_cannot_wait_for_an_event_from_outside() {
    with_device(CAPTURED);
    let (outside, never, before) = (event(), event(), stream());
    assert_eq!(cuEventRecord(outside, before), 0);
    let stream = begin(THREAD_LOCAL);
    assert_eq!(cuStreamWaitEvent(stream, never, 0), 0, "it was not recorded");
    assert_eq!(cuStreamWaitEvent(stream, outside, 0), 905);
    assert_eq!(end(stream), Err(INVALIDATED));
}

#[test]
fn two_captures_do_not_become_one() {
    with_device(CAPTURED);
    let (first, second, event) = (begin(THREAD_LOCAL), begin(THREAD_LOCAL), event());
    assert_eq!(cuEventRecord(event, first), 0);
    assert_eq!(cuStreamWaitEvent(second, event, 0), 902);
    assert_eq!((end(first), end(second)), (Err(INVALIDATED), Err(INVALIDATED)));
}

#[test]
fn what_cannot_begin_or_end_is_refused() {
    with_device(CAPTURED);
    assert_eq!(cuStreamBeginCapture_v2(0, THREAD_LOCAL), UNSUPPORTED, "the legacy stream");
    let stream = stream();
    assert_eq!(cuStreamBeginCapture_v2(stream, 3), 1);
    assert_eq!(end(stream), Err(401));
    assert_eq!(cuStreamBeginCapture_v2(stream, THREAD_LOCAL), 0);
    assert_eq!(cuStreamBeginCapture_v2(stream, THREAD_LOCAL), 401);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            with_device(CAPTURED);
            assert_eq!(end(stream), Err(908), "another thread");
        });
    });
    let graph = end(stream).expect("it is valid");
    // Freed at the launch and launched by a kernel do not go together.
    assert_eq!(instantiate(graph, 5), Err(1));
    assert_eq!(instantiate(graph, 16), Err(1));
}
