//! Functions of the host in streams: they run while the program goes on, and what is behind them waits.

use crate::graphs::{THREAD_LOCAL, begin, end, instantiate, put, stream};
use crate::{CAPTURED, WITH_HOST_FUNCTIONS, download, room, upload, with_device};
use cuda::api::driver::{context::*, graph::*, host::*, memory::*, pinned::*, stream::*};
use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;
use std::time::Duration;

const NOT_READY: u32 = 600;

/// Waits until the program lets it go on.
unsafe extern "C" fn wait(gate: *mut c_void) {
    unsafe { &*gate.cast::<Receiver<()>>() }.recv().expect("the program opens it");
}

/// A function that waits in this stream, and what lets it go on.
fn gate(stream: usize) -> Sender<()> {
    let (sender, receiver) = channel();
    let data: *mut Receiver<()> = Box::leak(Box::new(receiver));
    assert_eq!(unsafe { cuLaunchHostFunc(stream, Some(wait), data.cast()) }, 0);
    sender
}

/// A word of pinned memory, which is read without a call.
fn word() -> (u64, &'static AtomicU32) {
    let mut pinned = std::ptr::null_mut();
    assert_eq!(unsafe { cuMemHostAlloc(&raw mut pinned, 4, 0) }, 0);
    let word: &AtomicU32 = unsafe { &*pinned.cast() };
    word.store(0, Ordering::SeqCst);
    (pinned.addr() as u64, word)
}

fn event() -> usize {
    let mut event = 0;
    assert_eq!(unsafe { cuEventCreate(&raw mut event, 2) }, 0);
    event
}

fn read(word: &AtomicU32) -> u32 {
    word.load(Ordering::SeqCst)
}

#[test]
fn a_function_runs_while_the_program_goes_on_and_what_is_behind_it_waits() {
    with_device(WITH_HOST_FUNCTIONS);
    let (stream, other, event, before) = (stream(), stream(), event(), event());
    let ((address, word), (free_address, free)) = (word(), word());
    assert_eq!(cuEventRecord(before, stream), 0);
    let open = gate(stream);
    assert_eq!(put(address, 5, stream), 0);
    assert_eq!(cuEventRecord(event, stream), 0);
    assert_eq!((cuStreamQuery(stream), cuEventQuery(event), cuEventQuery(before)), (NOT_READY, NOT_READY, 0));
    // Another stream does not wait.
    assert_eq!((put(free_address, 6, other), cuStreamQuery(other)), (0, 0));
    assert_eq!((read(word), read(free)), (0, 6));
    open.send(()).expect("it waits");
    assert_eq!((cuEventSynchronize(event), read(word)), (0, 5));
    assert_eq!((cuStreamQuery(stream), cuEventQuery(event)), (0, 0));
}

#[test]
fn functions_of_a_stream_run_in_their_order() {
    unsafe extern "C" fn say(_: usize, code: u32, data: *mut c_void) {
        let said = unsafe { Box::from_raw(data.cast::<(SyncSender<(u32, u32)>, u32)>()) };
        said.0.send((said.1, code)).expect("the program listens");
    }
    with_device(WITH_HOST_FUNCTIONS);
    // A channel without room: each waits until the program has heard it.
    let ((sender, receiver), stream) = (sync_channel::<(u32, u32)>(0), stream());
    for number in 0..5_u32 {
        let data = Box::into_raw(Box::new((sender.clone(), number)));
        assert_eq!(unsafe { cuStreamAddCallback(stream, Some(say), data.cast(), 0) }, 0);
    }
    let heard: Vec<_> = (0..5).map(|_| receiver.recv().expect("each speaks")).collect();
    assert_eq!(heard, [0, 1, 2, 3, 4].map(|number| (number, 0)));
    assert_eq!(cuStreamDestroy_v2(stream), 0);
}

#[test]
fn another_stream_waits_for_it_by_an_event() {
    with_device(WITH_HOST_FUNCTIONS);
    let (stream, other, event, (address, word)) = (stream(), stream(), event(), word());
    let open = gate(stream);
    assert_eq!((cuEventRecord(event, stream), cuStreamWaitEvent(other, event, 0)), (0, 0));
    let second = gate(other);
    assert_eq!(put(address, 7, other), 0);
    second.send(()).expect("it will wait");
    assert_eq!((cuStreamQuery(other), read(word)), (NOT_READY, 0));
    open.send(()).expect("it waits");
    assert_eq!((cuStreamSynchronize(other), read(word)), (0, 7));
}

#[test]
fn the_default_stream_waits_for_it_unless_the_stream_is_independent() {
    let _room = room();
    let mut context = 0;
    with_device(CAPTURED);
    assert_eq!(unsafe { cuCtxCreate_v2(&raw mut context, 0, CAPTURED) }, 0);
    for (flags, is_behind) in [(0, true), (1, false)] {
        let (mut stream, (address, word)) = (0, word());
        assert_eq!(unsafe { cuStreamCreate(&raw mut stream, flags) }, 0);
        let open = gate(stream);
        assert_eq!(put(address, 8, 0), 0);
        assert_eq!((cuStreamQuery(0), read(word)), if is_behind { (NOT_READY, 0) } else { (0, 8) });
        open.send(()).expect("it waits");
        assert_eq!((cuCtxSynchronize(), read(word)), (0, 8));
    }
    assert_eq!(cuCtxDestroy_v2(context), 0);
}

#[test]
fn a_copy_from_pageable_memory_and_one_to_the_host_wait_in_the_call() {
    with_device(WITH_HOST_FUNCTIONS);
    let (stream, address, data) = (stream(), upload(&[0_u32; 2]), [3_u32, 4]);
    let open_later = |open: Sender<()>| {
        thread::spawn(move || {
            thread::sleep(Duration::from_millis(20));
            open.send(()).expect("it waits");
        })
    };
    let opened = open_later(gate(stream));
    assert_eq!(unsafe { cuMemcpyHtoDAsync_v2(address, data.as_ptr().cast(), 8, stream) }, 0);
    assert!(opened.join().is_ok());
    assert_eq!(cuStreamQuery(stream), 0);

    let opened = open_later(gate(stream));
    let mut read = [0_u32; 2];
    assert_eq!(unsafe { cuMemcpyDtoHAsync_v2(read.as_mut_ptr().cast(), address, 8, stream) }, 0);
    assert_eq!((read, opened.join().is_ok()), (data, true));
}

#[test]
fn a_call_that_waits_lets_other_threads_call() {
    with_device(WITH_HOST_FUNCTIONS);
    let (waits, address) = (stream(), upload(&[0_u32]));
    let open = gate(waits);
    let other = thread::spawn(move || {
        with_device(WITH_HOST_FUNCTIONS);
        thread::sleep(Duration::from_millis(20));
        let other = stream();
        assert_eq!((put(address, 9, other), cuStreamSynchronize(other)), (0, 0));
        open.send(()).expect("it waits");
    });
    assert_eq!(cuStreamSynchronize(waits), 0);
    assert!(other.join().is_ok());
    assert_eq!(download(address, 1), Ok(vec![9_u32]));
}

#[test]
fn a_graph_goes_on_behind_its_function_while_the_program_does() {
    with_device(WITH_HOST_FUNCTIONS);
    let (stream, (address, word)) = (begin(THREAD_LOCAL), word());
    assert_eq!(put(address, 1, stream), 0);
    let open = gate(stream);
    assert_eq!(put(address, 2, stream), 0);
    let executable = instantiate(end(stream).expect("it is valid"), 0).expect("it is valid");
    for _ in 0..2 {
        word.store(0, Ordering::SeqCst);
        assert_eq!((cuGraphLaunch(executable, stream), cuStreamQuery(stream)), (0, NOT_READY));
        assert_eq!(read(word), 1);
        open.send(()).expect("it waits");
        assert_eq!((cuStreamSynchronize(stream), read(word)), (0, 2));
    }
}

#[test]
fn after_an_error_a_callback_gets_it_and_a_function_does_not_run() {
    let _room = room();
    unsafe extern "C" fn keep(_: usize, code: u32, data: *mut c_void) {
        unsafe { &*data.cast::<AtomicU32>() }.store(code, Ordering::SeqCst);
    }
    unsafe extern "C" fn count(data: *mut c_void) {
        unsafe { &*data.cast::<AtomicU32>() }.fetch_add(1, Ordering::SeqCst);
    }
    static CODE: AtomicU32 = AtomicU32::new(0);
    static CALLS: AtomicU32 = AtomicU32::new(0);
    let mut context = 0;
    with_device(CAPTURED);
    assert_eq!(unsafe { cuCtxCreate_v2(&raw mut context, 0, CAPTURED) }, 0);
    let stream = stream();
    let data = |word: &'static AtomicU32| (&raw const *word).cast_mut().cast();
    // A kernel that is behind a function faults when its call has returned.
    let open = gate(stream);
    assert_eq!(put(upload(&[0_u32]) + 4, 1, stream), 0);
    assert_eq!(unsafe { cuStreamAddCallback(stream, Some(keep), data(&CODE), 0) }, 0);
    assert_eq!(unsafe { cuLaunchHostFunc(stream, Some(count), data(&CALLS)) }, 0);
    open.send(()).expect("it waits");
    assert_eq!(cuStreamSynchronize(stream), 700);
    assert_eq!((read(&CODE), read(&CALLS)), (700, 0));
    assert_eq!(cuCtxDestroy_v2(context), 0);
}

#[test]
fn a_context_is_destroyed_after_its_functions() {
    let _room = room();
    static CALLS: AtomicU32 = AtomicU32::new(0);
    unsafe extern "C" fn late(_: *mut c_void) {
        thread::sleep(Duration::from_millis(20));
        CALLS.store(1, Ordering::SeqCst);
    }
    let mut context = 0;
    with_device(CAPTURED);
    assert_eq!(unsafe { cuCtxCreate_v2(&raw mut context, 0, CAPTURED) }, 0);
    assert_eq!(unsafe { cuLaunchHostFunc(stream(), Some(late), std::ptr::null_mut()) }, 0);
    assert_eq!((cuCtxDestroy_v2(context), read(&CALLS)), (0, 1));
}
