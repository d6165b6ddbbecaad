//! Memory of the host that the program registers, so that kernels access it.

use crate::{CAPTURED, WITH_HOST_FUNCTIONS, put, room, said_in, with_device};
use cuda::api::driver::{context::*, device::*, memory::*, pinned::*};
use std::ffi::c_void;

const ALREADY_REGISTERED: u32 = 712;
const NOT_REGISTERED: u32 = 713;

fn register(memory: *mut u32, words: usize) -> u32 {
    unsafe { cuMemHostRegister_v2(memory.cast(), 4 * words, 0) }
}

fn address(memory: *mut u32) -> u64 {
    let mut address = 0;
    assert_eq!(unsafe { cuMemHostGetDevicePointer_v2(&raw mut address, memory.cast(), 0) }, 0);
    address
}

#[test]
fn a_kernel_writes_registered_memory() {
    with_device(WITH_HOST_FUNCTIONS);
    let memory: *mut u32 = vec![1_u32, 2, 3, 4].leak().as_mut_ptr();
    assert_eq!(register(memory, 4), 0);
    let at = address(memory);
    assert_eq!(at, memory.addr() as u64);
    assert_eq!((put(at + 4, 7), cuMemsetD8_v2(at + 8, 1, 4), cuCtxSynchronize()), (0, 0, 0));
    assert_eq!(unsafe { [0, 1, 2, 3].map(|word| memory.add(word).read_volatile()) }, [1, 7, 0x0101_0101, 4]);
    assert_eq!(cuMemHostUnregister(memory.cast()), 0);
    // Again, and another part.
    assert_eq!((register(memory, 2), cuMemHostUnregister(memory.cast())), (0, 0));
    assert_eq!(cuMemHostUnregister(memory.cast()), NOT_REGISTERED);
}

#[test]
fn memory_is_registered_once() {
    with_device(WITH_HOST_FUNCTIONS);
    let (memory, mut flags) = (vec![0_u32; 8].leak().as_mut_ptr(), 0);
    let part = |from: usize| unsafe { memory.add(from) };
    assert_eq!(register(part(2), 4), 0);
    for (from, words, expected) in [(0, 3, 712), (2, 4, 712), (3, 1, 712), (5, 3, 712), (0, 2, 0), (6, 2, 0)] {
        assert_eq!(register(part(from), words), expected, "{words} words from {from} on");
    }
    assert_eq!(cuMemHostUnregister(part(3).cast()), NOT_REGISTERED, "it begins elsewhere");
    assert_eq!(cuMemFreeHost(part(2).cast()), 1, "the driver has not allocated it");
    assert_eq!(unsafe { cuMemHostGetFlags(&raw mut flags, part(2).cast()) }, 1);
    for from in [0, 2, 6] {
        assert_eq!(cuMemHostUnregister(part(from).cast()), 0);
    }
    let mut address = 0;
    assert_eq!(unsafe { cuMemHostGetDevicePointer_v2(&raw mut address, part(2).cast(), 0) }, 1);
}

#[test]
fn what_cannot_be_registered_is_refused() {
    with_device(WITH_HOST_FUNCTIONS);
    let mut word = 0_u32;
    let memory: *mut c_void = (&raw mut word).cast();
    for (pointer, bytes, flags, expected) in [
        (std::ptr::null_mut(), 4, 0, 1),
        (memory, 0, 0, 1),
        (memory, 4, 16, 1),
        (memory, 4, 4, 801),
        (memory, 4, 8, 801),
    ] {
        assert_eq!(unsafe { cuMemHostRegister_v2(pointer, bytes, flags) }, expected);
    }
    let mut pinned = std::ptr::null_mut();
    assert_eq!(unsafe { cuMemHostAlloc(&raw mut pinned, 4, 0) }, 0);
    assert_eq!(register(pinned.cast(), 1), ALREADY_REGISTERED);
    assert_eq!((cuMemHostUnregister(pinned), cuMemFreeHost(pinned)), (NOT_REGISTERED, 0));
    let mut has = 0;
    for attribute in [91, 99] {
        assert_eq!(unsafe { cuDeviceGetAttribute(&raw mut has, attribute, WITH_HOST_FUNCTIONS) }, 0);
        assert_eq!(has, 1);
    }
}

#[test]
fn memory_pinned_where_another_device_has_freed_its_own_is_not_taken_for_that() {
    for _ in 0..8 {
        let mut pinned = std::ptr::null_mut();
        with_device(CAPTURED);
        assert_eq!(unsafe { cuMemHostAlloc(&raw mut pinned, 4, 0) }, 0);
        assert_eq!(cuMemFreeHost(pinned), 0);
        // The system mostly gives it the same address.
        with_device(WITH_HOST_FUNCTIONS);
        assert_eq!(unsafe { cuMemHostAlloc(&raw mut pinned, 4, 0) }, 0);
        assert_eq!(cuMemsetD8_v2(pinned.addr() as u64, 7, 4), 0);
        assert_eq!(cuMemFreeHost(pinned), 0);
    }
}

#[test]
fn an_access_behind_it_is_out_of_bounds() {
    let said = said_in("registered::a_kernel_writes_behind_registered_memory");
    assert!(said.contains("is 0 bytes after the nearest allocation of size 8 bytes"), "{said}");
}

#[test]
fn a_kernel_writes_behind_registered_memory() {
    let _room = room();
    let mut context = 0;
    with_device(CAPTURED);
    assert_eq!(unsafe { cuCtxCreate_v2(&raw mut context, 0, CAPTURED) }, 0);
    let memory = vec![0_u32; 4].leak().as_mut_ptr();
    assert_eq!(register(memory, 2), 0);
    assert_eq!((put(address(memory) + 8, 6), cuCtxSynchronize()), (0, 700));
    // It goes with its context.
    assert_eq!(cuCtxDestroy_v2(context), 0);
    assert_eq!(unsafe { memory.add(2).read() }, 0);
    assert_eq!((register(memory, 2), cuMemHostUnregister(memory.cast())), (0, 0));
}
