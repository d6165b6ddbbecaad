//! Work of two streams on the same memory. Reports go to the error stream, so that each scene has its own process.

use super::{WELL, allocate, ptr, with_device};
use cuda::api::driver::host::cuLaunchHostFunc;
use cuda::api::driver::lookup::cuGetProcAddress;
use cuda::api::driver::memory::{cuMemAlloc_v2, cuMemFree_v2, cuMemcpyDtoHAsync_v2, cuMemsetD8Async};
use cuda::api::driver::stream::{
    cuEventCreate, cuEventRecord, cuStreamCreate, cuStreamDestroy_v2, cuStreamSynchronize, cuStreamWaitEvent,
};
use std::ffi::c_void;
use std::process::Command;

/// Which scene this process plays.
const SCENE: &str = "SNUFFER_TEST_SCENE";

#[test]
fn unordered_work_of_two_streams_is_reported() {
    if let Ok(scene) = std::env::var(SCENE) {
        return play(&scene);
    }
    for (scene, reported) in [
        ("nothing", true),
        ("event", false),
        ("behind a function of the host", true),
        ("behind a function of the host, and an event", false),
        ("wait", false),
        ("one stream", false),
        ("own streams of two threads", true),
        ("own streams of two threads, and a wait", false),
        ("own stream of a thread that has ended", true),
        ("own stream of a thread, and the stream that all share", false),
        ("own streams of two threads, as their default streams", true),
        ("own streams of two threads, as their default streams, and a wait", false),
        ("two handles of the stream that all share", false),
        ("freed", false),
        ("freed, and allocated in stream order", true),
    ] {
        let mut command = Command::new(std::env::current_exe().expect("this test"));
        command
            .args(["--exact", "happens_before::unordered_work_of_two_streams_is_reported", "--nocapture"])
            .env(SCENE, scene);
        let output = command.output().expect("this test runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{scene}: {said}");
        assert_eq!(said.contains("========= Stream order"), reported, "{scene}: {said}");
    }
}

/// Takes some time.
unsafe extern "C" fn linger(_: *mut c_void) {
    std::thread::sleep(std::time::Duration::from_millis(20));
}

/// Fills memory in one stream and reads it in another.
fn play(scene: &str) {
    with_device(WELL);
    let (mut first, mut second, mut event) = (0, 0, 0);
    let mut memory = allocate(4);
    unsafe {
        if scene == "freed" {
            assert_eq!(cuMemAlloc_v2(&raw mut memory, 4), 0);
        }
        assert_eq!(cuStreamCreate(&raw mut first, 1), 0);
        assert_eq!(cuStreamCreate(&raw mut second, 1), 0);
        assert_eq!(cuEventCreate(&raw mut event, 2), 0);
    }
    if let Some(one) = scene.strip_prefix("own stream").or(scene.strip_prefix("two handles")) {
        return play_with_default_streams(one, memory);
    }
    if scene.starts_with("behind a function") {
        assert_eq!(unsafe { cuLaunchHostFunc(first, Some(linger), ptr::null_mut()) }, 0);
    }
    assert_eq!(cuMemsetD8Async(memory, 1, 4, first), 0);
    match scene {
        "event" | "behind a function of the host, and an event" => {
            assert_eq!(cuEventRecord(event, first), 0);
            assert_eq!(cuStreamWaitEvent(second, event, 0), 0);
        }
        "wait" => assert_eq!(cuStreamSynchronize(first), 0),
        _ => {}
    }
    if scene.starts_with("freed") {
        // This waits for the device, unless the memory was allocated in stream order.
        assert_eq!(cuMemFree_v2(memory), 0);
        return;
    }
    let mut word = 0_u32;
    if scene == "behind a function of the host" {
        // Before the fill or after it: neither is right.
        assert_eq!(unsafe { cuMemcpyDtoHAsync_v2(ptr::from_mut(&mut word).cast(), memory, 4, second) }, 0);
        assert_eq!(cuStreamSynchronize(first), 0);
        return;
    }
    let stream = if scene == "one stream" { first } else { second };
    assert_eq!(unsafe { cuMemcpyDtoHAsync_v2(ptr::from_mut(&mut word).cast(), memory, 4, stream) }, 0);
    assert_eq!(word, 0x0101_0101);
}

/// The handles of default streams: the one that all threads share, twice, and the thread's own.
const SHARED: usize = 0;
const LEGACY: usize = 1;
const OWN: usize = 2;

/// Fills memory as a program does that is compiled for per-thread default streams.
fn fill_own_default(memory: u64) {
    let mut found = ptr::null();
    let code = unsafe { cuGetProcAddress(c"cuMemsetD8Async".as_ptr(), &raw mut found, 12_000, 2) };
    assert_eq!(code, 0);
    // SAFETY: the type of the function.
    let fill: extern "C" fn(u64, u8, usize, usize) -> u32 = unsafe { std::mem::transmute(found) };
    assert_eq!(fill(memory, 1, 4, 0), 0);
}

/// Fills memory in one default stream and reads it in another, as an H200 orders them.
fn play_with_default_streams(scene: &str, memory: u64) {
    let read = |stream: usize| {
        let mut word = 0_u32;
        assert_eq!(unsafe { cuMemcpyDtoHAsync_v2(ptr::from_mut(&mut word).cast(), memory, 4, stream) }, 0);
    };
    let in_thread = |work: &(dyn Fn() + Sync)| {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                with_device(WELL);
                work();
            });
        });
    };
    let fill = |stream: usize| assert_eq!(cuMemsetD8Async(memory, 1, 4, stream), 0);
    match scene {
        "s of two threads" => {
            fill(OWN);
            in_thread(&|| read(OWN));
        }
        "s of two threads, and a wait" => {
            fill(OWN);
            assert_eq!(cuStreamSynchronize(OWN), 0);
            in_thread(&|| read(OWN));
        }
        "s of two threads, as their default streams" => {
            in_thread(&|| fill_own_default(memory));
            read(OWN);
        }
        "s of two threads, as their default streams, and a wait" => {
            fill_own_default(memory);
            assert_eq!(cuStreamSynchronize(OWN), 0);
            in_thread(&|| read(OWN));
        }
        " of a thread that has ended" => {
            in_thread(&|| fill(OWN));
            read(OWN);
        }
        " of a thread, and the stream that all share" => {
            in_thread(&|| fill(OWN));
            read(SHARED);
        }
        _ => {
            fill(SHARED);
            read(LEGACY);
        }
    }
}

#[test]
fn a_stream_for_each_request_costs_no_more_than_the_first() {
    with_device(WELL);
    let memory = allocate(4);
    for _ in 0..100_000 {
        let mut stream = 0;
        assert_eq!(unsafe { cuStreamCreate(&raw mut stream, 0) }, 0);
        assert_eq!(cuMemsetD8Async(memory, 1, 4, stream), 0);
        assert_eq!(cuStreamSynchronize(stream), 0);
        assert_eq!(cuStreamDestroy_v2(stream), 0);
    }
}
