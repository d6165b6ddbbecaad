//! Copies from and to pinned memory that the program changes before it has waited. Reports go to the error stream, so that each scene has
//! its own process.

use super::{WELL, allocate, said_by, this_program, with_device};
use cuda::api::driver::host::cuLaunchHostFunc;
use cuda::api::driver::memory::{cuMemcpyDtoHAsync_v2, cuMemcpyHtoD_v2, cuMemcpyHtoDAsync_v2};
use cuda::api::driver::pinned::{cuMemFreeHost, cuMemHostAlloc};
use cuda::api::driver::stream::{
    cuEventCreate, cuEventQuery, cuEventRecord, cuStreamCreate, cuStreamSynchronize, cuStreamWaitEvent,
};
use std::ffi::c_void;
use std::ptr;

/// Which scene this process plays.
const SCENE: &str = "SNUFFER_TEST_SCENE";
const BYTES: usize = 64;
/// How a report begins.
const BEGINNING: &str = "========= Stream order: the program writes host memory that ";

#[test]
fn a_program_that_changes_what_a_copy_reads_or_writes_before_it_has_waited_is_reported() {
    const TEST: &str = "in_flight::a_program_that_changes_what_a_copy_reads_or_writes_before_it_has_waited_is_reported";
    if let Ok(scene) = std::env::var(SCENE) {
        return play(&scene);
    }
    for (scene, reported) in [
        ("to the device", Some("`cuMemcpyHtoDAsync_v2` reads")),
        ("to the device, a wait", None),
        ("to the device, an event that the program asks for", None),
        ("to the device, a wait for another stream", Some("`cuMemcpyHtoDAsync_v2` reads")),
        ("to the device, an event that another stream waits for", Some("`cuMemcpyHtoDAsync_v2` reads")),
        ("to the device, from pageable memory", None),
        ("to the device, the call waits", None),
        ("to the device, back by a copy", None),
        ("to the device, a function of the host", None),
        ("to the device, freed", None),
        ("to the device, another byte", None),
        ("to the host", Some("`cuMemcpyDtoHAsync_v2` writes")),
        ("to the host, a wait", None),
    ] {
        let said = said_by(this_program().env(SCENE, scene), TEST);
        let found = said.lines().find_map(|line| line.strip_prefix(BEGINNING)?.split_once(','));
        assert_eq!(found.map(|(what, _)| what), reported, "{scene}: {said}");
        let note = "byte 3 of 64 was 0 when the copy began, and is 9 now";
        assert_eq!(said.contains(note), reported.is_some(), "{scene}: {said}");
    }
}

#[test]
fn a_program_that_reads_what_a_copy_writes_before_it_has_waited_is_reported() {
    const TEST: &str = "in_flight::a_program_that_reads_what_a_copy_writes_before_it_has_waited_is_reported";
    if let Ok(scene) = std::env::var(SCENE) {
        return play_reader(&scene);
    }
    for (scene, is_reported) in [
        ("at once", true),
        ("a wait", false),
        ("an event that the program asks for", false),
        ("a wait for another stream", true),
        ("a copy from there, and a wait", false),
        ("freed", false),
        ("another page", false),
        ("the copied page of two", true),
        ("a part of a page", false),
        ("a function of the host", false),
        ("a write", false),
    ] {
        let said = said_by(this_program().env(SCENE, scene), TEST);
        const READS: &str = "========= Stream order: the program reads host memory that `cuMemcpyDtoHAsync_v2` writes,";
        assert_eq!(said.contains(READS), is_reported, "{scene}: {said}");
        let place = "api/in_flight.rs:";
        assert_eq!(said.contains("byte 3 of ") && said.contains(place), is_reported, "{scene}: {said}");
        assert!(!said.contains("7 is not"), "{scene}: {said}");
    }
}

/// The bytes of a page.
const PAGE: usize = 4096;

/// Copies sevens to pinned memory, and reads there.
fn play_reader(scene: &str) {
    with_device(WELL);
    let (pages, copied, read) = match scene {
        "another page" => (2, PAGE, PAGE + 3),
        "the copied page of two" => (2, PAGE, 3),
        "a part of a page" => (1, PAGE / 2, 3),
        _ => (1, PAGE, 3),
    };
    let (device, mut pinned, mut first, mut second, mut event) = (allocate(PAGE), ptr::null_mut(), 0, 0, 0);
    let sevens = [7_u8; PAGE];
    let host: *mut u8 = unsafe {
        assert_eq!(cuMemHostAlloc(&raw mut pinned, pages * PAGE, 0), 0);
        assert_eq!(cuStreamCreate(&raw mut first, 1), 0);
        assert_eq!(cuStreamCreate(&raw mut second, 1), 0);
        assert_eq!(cuEventCreate(&raw mut event, 2), 0);
        assert_eq!(cuMemcpyHtoD_v2(device, sevens.as_ptr().cast(), PAGE), 0);
        assert_eq!(cuMemcpyDtoHAsync_v2(pinned, device, copied, first), 0);
        pinned.cast()
    };
    let code = match scene {
        "a wait" => cuStreamSynchronize(first),
        "a wait for another stream" => cuStreamSynchronize(second),
        "an event that the program asks for" => cuEventRecord(event, first).max(cuEventQuery(event)),
        "a copy from there, and a wait" => unsafe {
            cuMemcpyHtoDAsync_v2(device, host.cast(), copied, first).max(cuStreamSynchronize(first))
        },
        "a function of the host" => unsafe {
            cuLaunchHostFunc(first, Some(write), host.add(3).cast()).max(cuStreamSynchronize(first))
        },
        "freed" => cuMemFreeHost(pinned),
        _ => 0,
    };
    assert_eq!(code, 0);
    match scene {
        "freed" => {}
        "a write" => unsafe { host.add(3).write_volatile(7) },
        _ => {
            let value = unsafe { host.add(read).read_volatile() };
            let expected = match scene {
                "another page" => 0,
                "a function of the host" => 9,
                _ => 7,
            };
            if value != expected {
                eprintln!("7 is not {value}");
            }
        }
    }
    assert_eq!(cuStreamSynchronize(first), 0);
}

/// Writes to pinned memory.
unsafe extern "C" fn write(byte: *mut c_void) {
    unsafe { byte.cast::<u8>().write(9) };
}

fn play(scene: &str) {
    with_device(WELL);
    let (device, mut pinned, mut first, mut second, mut event) = (allocate(BYTES), ptr::null_mut(), 0, 0, 0);
    unsafe {
        assert_eq!(cuMemHostAlloc(&raw mut pinned, BYTES + 1, 0), 0);
        assert_eq!(cuStreamCreate(&raw mut first, 1), 0);
        assert_eq!(cuStreamCreate(&raw mut second, 1), 0);
        assert_eq!(cuEventCreate(&raw mut event, 2), 0);
    }
    let mut pageable = [0_u8; BYTES];
    let host: *mut u8 = if scene.ends_with("pageable memory") { pageable.as_mut_ptr() } else { pinned.cast() };
    let code = unsafe {
        if scene.starts_with("to the host") {
            assert_eq!(cuMemcpyHtoD_v2(device, host.cast(), BYTES), 0);
            cuMemcpyDtoHAsync_v2(host.cast(), device, BYTES, first)
        } else if scene.ends_with("the call waits") {
            cuMemcpyHtoD_v2(device, host.cast(), BYTES)
        } else {
            cuMemcpyHtoDAsync_v2(device, host.cast(), BYTES, first)
        }
    };
    assert_eq!(code, 0);
    let (_, then) = scene.split_once(", ").unwrap_or((scene, ""));
    let code = match then {
        "a wait" => cuStreamSynchronize(first),
        "a wait for another stream" => cuStreamSynchronize(second),
        "an event that the program asks for" => cuEventRecord(event, first).max(cuEventQuery(event)),
        "an event that another stream waits for" => {
            cuEventRecord(event, first).max(cuStreamWaitEvent(second, event, 0))
        }
        "back by a copy" => unsafe { cuMemcpyDtoHAsync_v2(host.cast(), device, BYTES, first) },
        "a function of the host" => unsafe { cuLaunchHostFunc(first, Some(write), host.add(3).cast()) },
        "freed" => cuMemFreeHost(pinned),
        _ => 0,
    };
    assert_eq!(code, 0);
    match then {
        // Each of these has written there, or may not.
        "freed" | "back by a copy" | "a function of the host" => {}
        "another byte" => unsafe { host.add(BYTES).write(9) },
        _ => unsafe { host.add(3).write(9) },
    }
    assert_eq!(cuStreamSynchronize(first), 0);
}
