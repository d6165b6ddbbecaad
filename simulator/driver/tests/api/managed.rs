//! Memory that the host and the device access at one address.

use crate::{WELL, download, put, said_in, with_device};
use cuda::api::driver::managed::*;
use cuda::api::driver::memory::{cuMemFree_v2, cuMemsetD8Async};
use cuda::api::driver::{context::cuCtxSynchronize, device::cuDeviceGetAttribute};
use std::{ptr, slice};

const GLOBAL: u32 = 1;

fn allocate(bytes: usize) -> u64 {
    let mut address = 0;
    assert_eq!(unsafe { cuMemAllocManaged(&raw mut address, bytes, GLOBAL) }, 0);
    address
}

/// The words at an address, as the host reads them.
fn words(address: u64, n: usize) -> Vec<u32> {
    unsafe { slice::from_raw_parts(ptr::with_exposed_provenance::<u32>(address as usize), n) }.to_vec()
}

#[test]
fn the_host_and_a_kernel_see_what_the_other_wrote() {
    with_device(WELL);
    let address = allocate(8);
    unsafe { ptr::with_exposed_provenance_mut::<u32>(address as usize).write(5) };
    assert_eq!(put(address + 4, 6), 0);
    assert_eq!(words(address, 2), [5, 6]);
    assert_eq!(download(address, 2), Ok(vec![5_u32, 6]));
    assert_eq!(cuMemsetD8Async(address, 1, 4, 0), 0);
    assert_eq!(words(address, 2), [0x0101_0101, 6]);
    assert_eq!(cuMemFree_v2(address), 0);
    assert_eq!(cuMemFree_v2(address), 1);
}

#[test]
fn the_device_says_that_it_has_managed_memory() {
    with_device(WELL);
    let mut has = 0;
    for attribute in [83, 89] {
        assert_eq!(unsafe { cuDeviceGetAttribute(&raw mut has, attribute, WELL) }, 0);
        assert_eq!(has, 1);
    }
}

#[test]
fn what_it_cannot_be_is_refused() {
    with_device(WELL);
    let mut address = 0;
    unsafe {
        assert_eq!(cuMemAllocManaged(&raw mut address, 0, GLOBAL), 1);
        assert_eq!(cuMemAllocManaged(&raw mut address, 4, 3), 1);
    }
    let managed = allocate(16);
    for (kind, id, bytes, expected) in [(1, WELL, 16, 0), (1, 99, 16, 101), (2, 0, 16, 0), (1, WELL, 17, 1)] {
        let location = Location { kind, id };
        assert_eq!(cuMemPrefetchAsync_v2(managed, bytes, location, 0, 0), expected);
        assert_eq!(cuMemAdvise_v2(managed, bytes, 3, location), expected);
    }
    assert_eq!(cuStreamAttachMemAsync(0, managed, 0, GLOBAL), 0);
}

#[test]
fn an_access_behind_it_is_out_of_bounds() {
    let said = said_in("managed::a_kernel_writes_behind_managed_memory");
    assert!(said.contains("is 0 bytes after the nearest allocation of size 8 bytes"), "{said}");
}

#[test]
fn a_kernel_writes_behind_managed_memory() {
    with_device(crate::BROKEN_BY_MANAGED);
    let address = allocate(8);
    assert_eq!(put(address + 8, 6), 0);
    assert_eq!(cuCtxSynchronize(), 700);
}
