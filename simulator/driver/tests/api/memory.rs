//! Device memory.

use crate::{LEAKING, MEMORY, OTHER, SMALL, WELL, allocate, download, put, said_in, said_in_with, upload, with_device};
use cuda::api::driver::context::cuDevicePrimaryCtxRelease_v2;
use cuda::api::driver::managed::cuMemAllocManaged;
use cuda::api::driver::memory::*;
use cuda::api::driver::pinned::*;
use std::path::Path;
use std::ptr;

#[test]
fn uploaded_and_copied_bytes_come_back() {
    with_device(WELL);
    let (from, to) = (upload(&[1_u32, 2, 3]), allocate(12));
    assert_eq!(cuMemcpyDtoDAsync_v2(to, from, 12, 0), 0);
    assert_eq!(cuMemsetD8Async(to + 4, 0xff, 4, 0), 0);
    assert_eq!(download(to, 3), Ok(vec![1_u32, u32::MAX, 3]));
}

#[test]
fn no_bytes_are_a_valid_allocation_only_in_stream_order() {
    with_device(WELL);
    let (empty, mut refused) = (allocate(0), 0);
    assert_ne!(empty, 0);
    assert_eq!(cuMemsetD8Async(empty, 0, 0, 0), 0);
    assert_eq!(cuMemFreeAsync(empty, 0), 0);
    assert_eq!(unsafe { cuMemAlloc_v2(&raw mut refused, 0) }, 1);
}

#[test]
fn allocations_begin_where_kernels_may_expect_it() {
    with_device(WELL);
    for bytes in [1, 3, 513] {
        assert_eq!(allocate(bytes) % 512, 0);
    }
}

#[test]
fn memory_is_freed_once() {
    with_device(WELL);
    let address = upload(&[1_u8; 32]);
    assert_eq!(cuMemFreeAsync(address + 4, 0), 1);
    assert_eq!(cuMemFreeAsync(address, 0), 0);
    assert_eq!(cuMemFreeAsync(address, 0), 1);
    assert_eq!(cuMemFreeAsync(0x1234, 0), 1, "an address of no device");
    assert_eq!(download::<u8>(address, 1), Err(1));
}

#[test]
fn each_refused_free_has_a_message_of_its_own() {
    const SAID: &str = "\
========= Invalid free of memory
=========     at cuMemFreeAsync()
=========     Address 0x1000018000000004 is not where a live allocation begins
=========     and is offset 4 of an allocation of size 32 bytes
=========     allocated before the first launch
========= Invalid free of memory
=========     at cuMemFreeAsync()
=========     Address 0x1000018000000000 is not where a live allocation begins
=========     and is that of an allocation of size 32 bytes that was freed before
=========     allocated before the first launch
=========     freed before the first launch
========= Invalid free of memory
=========     at cuMemFreeAsync()
=========     Address 0x1234 is not where a live allocation begins
=========     and is near the null pointer
========= Invalid __global__ read of size 1 bytes
=========     at cuMemcpyDtoHAsync_v2()
=========     Access to 0x1000018000000000 is in memory that was freed
=========     and is 1 bytes at offset 0 of an allocation of size 32 bytes
=========     allocated before the first launch
=========     freed before the first launch
";
    assert_eq!(said_in("memory::memory_is_freed_once"), SAID);
}

#[test]
fn copies_that_overlap_are_done_as_if_they_did_not_and_reported() {
    with_device(WELL);
    let address = upload(&[1_u32, 2, 3, 4]);
    assert_eq!(cuMemcpyDtoDAsync_v2(address + 4, address, 12, 0), 0);
    assert_eq!(download(address, 4), Ok(vec![1_u32, 1, 2, 3]));
    assert_eq!(cuMemcpyDtoDAsync_v2(address + 8, address, 8, 0), 0);
}

#[test]
fn memory_of_two_sizes_is_left() {
    with_device(LEAKING);
    upload(&[1_u32; 8]);
    let freed = upload(&[1_u32; 4]);
    assert_eq!(put(freed, 5), 0);
    upload(&[1_u32; 16]);
    assert_eq!(cuMemFreeAsync(freed, 0), 0);
    assert_eq!(cuDevicePrimaryCtxRelease_v2(LEAKING), 0);
}

#[test]
fn what_was_never_freed_is_reported_on_request() {
    const LEAKED: &str = "\
========= Leaked 96 bytes in 2 allocations
=========     32 bytes allocated before the first launch
=========     64 bytes allocated after launch 1 (`put`)
";
    let said =
        |checks: &str| said_in_with("memory::memory_of_two_sizes_is_left", "SNUFFER_SIM_CHECKS", Path::new(checks));
    assert_eq!(said("all,leaks"), LEAKED);
    assert_eq!(said("all"), "");
}

#[test]
fn messages_about_copies_name_the_call() {
    const OVERLAP: &str = "\
========= Race reported in a copy of 12 bytes between ranges that overlap
=========     at cuMemcpyDtoDAsync_v2()
=========     Access to 0x1000018000000004 is not ordered
=========     and is the first of 8 bytes that are both read and written
";
    assert_eq!(said_in("memory::copies_that_overlap_are_done_as_if_they_did_not_and_reported"), OVERLAP);
    let said = said_in("memory::copies_out_of_range_are_refused_and_break_nothing");
    for (call, what, bytes) in [
        ("cuMemcpyDtoHAsync_v2", "read", 20),
        ("cuMemsetD8Async", "write", 1),
        ("cuMemcpyDtoDAsync_v2", "read", 12),
        ("cuMemcpyHtoDAsync_v2", "write", 17),
    ] {
        let title = format!("========= Invalid __global__ {what} of size {bytes} bytes\n=========     at {call}()\n");
        assert!(said.contains(&title), "{title} in {said}");
    }
}

#[test]
fn copies_out_of_range_are_refused_and_break_nothing() {
    with_device(WELL);
    let address = upload(&[0_u32; 4]);
    assert_eq!(download::<u32>(address, 5), Err(1));
    assert_eq!(download::<u32>(address + 4, 4), Err(1));
    assert_eq!(cuMemsetD8Async(address + 16, 0, 1, 0), 1);
    assert_eq!(cuMemcpyDtoDAsync_v2(address, address + 8, 12, 0), 1);
    assert_eq!(unsafe { cuMemcpyHtoDAsync_v2(address, [0_u8; 17].as_ptr().cast(), 17, 0) }, 1);
    assert_eq!(download(address, 4), Ok(vec![0_u32; 4]));
}

#[test]
fn copies_of_nothing_look_at_no_address() {
    with_device(WELL);
    assert_eq!(unsafe { cuMemcpyHtoDAsync_v2(0, ptr::null(), 0, 0) }, 0);
    assert_eq!(unsafe { cuMemcpyDtoHAsync_v2(ptr::null_mut(), 0, 0, 0) }, 0);
    assert_eq!(cuMemcpyDtoDAsync_v2(0, 0, 0, 0), 0);
}

#[test]
fn memory_runs_out_and_comes_back() {
    with_device(SMALL);
    let (mut free, mut total, mut address) = (0, 0, 0);
    let half = MEMORY as usize / 2;
    let taken = allocate(half);
    unsafe {
        assert_eq!(cuMemGetInfo_v2(&raw mut free, &raw mut total), 0);
        assert_eq!((free, total), (half, MEMORY as usize));
        assert_eq!(cuMemAllocAsync(&raw mut address, half + 1, 0), 2);
    }
    assert_eq!(cuMemFreeAsync(taken, 0), 0);
    assert_eq!(cuMemFreeAsync(allocate(half + 1), 0), 0);
}

#[test]
fn two_devices_do_not_share_memory_but_copy_to_each_other() {
    let well = with_device(WELL);
    let here = upload(&[5_u32]);
    let other = with_device(OTHER);
    let there = upload(&[6_u32]);
    assert_ne!(here, there);
    assert_eq!(cuMemcpyPeerAsync(there, other, here, other, 4, 0), 1, "the address is not of that context");
    assert_eq!(download(there, 1), Ok(vec![6_u32]));
    assert_eq!(cuMemcpyPeerAsync(there, other, here, well, 4, 0), 0);
    assert_eq!(download(there, 1), Ok(vec![5_u32]));
}

#[test]
fn a_kernel_writes_what_the_host_reads() {
    with_device(WELL);
    let address = upload(&[0_u32; 2]);
    assert_eq!(put(address + 4, 9), 0);
    assert_eq!(download(address, 2), Ok(vec![0_u32, 9]));
}

#[test]
fn pinned_memory_of_the_host_is_the_devices_too_until_it_is_freed_once() {
    with_device(WELL);
    let (mut pointer, mut address, mut flags) = (ptr::null_mut(), 0, 0);
    unsafe {
        assert_eq!(cuMemHostAlloc(&raw mut pointer, 0, 0), 1);
        assert_eq!(cuMemHostAlloc(&raw mut pointer, 8, 8), 1);
        assert_eq!(cuMemHostAlloc(&raw mut pointer, 8, 4), 0);
        assert_eq!(cuMemHostGetFlags(&raw mut flags, pointer), 0);
        assert_eq!(flags, 6);
        assert_eq!(cuMemHostGetDevicePointer_v2(&raw mut address, pointer, 0), 0);
        assert_eq!(address, pointer.addr() as u64);
        pointer.cast::<u32>().write_bytes(0, 2);
        assert_eq!(put(address + 4, 9), 0);
        assert_eq!(pointer.cast::<u32>().add(1).read(), 9);
        assert_eq!(cuMemFreeHost(pointer), 0);
        assert_eq!(cuMemFreeHost(pointer), 1);
        assert_eq!(cuMemHostGetDevicePointer_v2(&raw mut address, pointer, 0), 1);
        assert_eq!(cuMemAllocHost_v2(&raw mut pointer, 8), 0);
        assert_eq!(cuMemFreeHost(pointer), 0);
    }
}

#[test]
fn memory_that_the_machine_does_not_have_is_out_of_memory() {
    with_device(WELL);
    for bytes in [1 << 40, 1 << 47, usize::MAX / 2, usize::MAX] {
        let (mut device, mut managed, mut pinned, mut host) = (0, 0, ptr::null_mut(), ptr::null_mut());
        unsafe {
            assert_eq!(cuMemAlloc_v2(&raw mut device, bytes), 2);
            assert_eq!(cuMemAllocManaged(&raw mut managed, bytes, 1), 2);
            assert_eq!(cuMemAllocHost_v2(&raw mut pinned, bytes), 2);
            assert_eq!(cuMemHostAlloc(&raw mut host, bytes, 0), 2);
        }
    }
}

#[test]
fn memory_of_the_host_that_no_process_has_is_not_registered() {
    with_device(WELL);
    assert_eq!(unsafe { cuMemHostRegister_v2(ptr::without_provenance_mut(4096), usize::MAX / 2 + 1, 0) }, 1);
}

#[test]
fn copies_from_and_to_a_null_pointer_of_the_host_are_invalid() {
    with_device(WELL);
    let (address, null) = (allocate(4), ptr::null_mut());
    unsafe {
        assert_eq!(cuMemcpyHtoD_v2(address, null, 4), 1);
        assert_eq!(cuMemcpyHtoDAsync_v2(address, null, 4, 0), 1);
        assert_eq!(cuMemcpyDtoH_v2(null, address, 4), 1);
        assert_eq!(cuMemcpyDtoHAsync_v2(null, address, 4, 0), 1);
        assert_eq!(cuMemcpy(address, 0, 4), 1);
        assert_eq!(cuMemcpy(0, address, 4), 1);
        assert_eq!(cuMemcpy(0, 0, 4), 1);
        // Nothing is copied.
        assert_eq!(cuMemcpyHtoD_v2(address, null, 0), 0);
        assert_eq!(cuMemcpyDtoH_v2(null, address, 0), 0);
    }
}
