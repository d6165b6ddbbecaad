//! Pools of memory that is allocated in stream order.

use crate::{OTHER, WELL, put, with_device};
use cuda::api::driver::managed::Location;
use cuda::api::driver::memory::*;
use cuda::api::driver::pool::*;
use std::ptr;

const INVALID_VALUE: u32 = 1;
const OUT_OF_MEMORY: u32 = 2;
const INVALID_DEVICE: u32 = 101;
const NOT_SUPPORTED: u32 = 801;

const USED: u32 = 7;
const HIGH: u32 = 8;

fn properties(device: i32, most: usize) -> Properties {
    let location = Location { kind: 1, id: device };
    Properties { kind: 1, shared: 0, location, security: ptr::null(), most, rest: [0; 56] }
}

fn make(properties: &Properties) -> Result<usize, u32> {
    let mut pool = 0;
    match unsafe { cuMemPoolCreate(&raw mut pool, properties) } {
        0 => Ok(pool),
        code => Err(code),
    }
}

fn allocate(bytes: usize, pool: usize) -> Result<u64, u32> {
    let mut address = 0;
    match unsafe { cuMemAllocFromPoolAsync(&raw mut address, bytes, pool, 0) } {
        0 => Ok(address),
        code => Err(code),
    }
}

fn attribute(pool: usize, attribute: u32) -> u64 {
    let mut value = 0_u64;
    assert_eq!(unsafe { cuMemPoolGetAttribute(pool, attribute, (&raw mut value).cast()) }, 0);
    value
}

#[test]
fn a_pool_knows_what_is_used_of_it() {
    with_device(WELL);
    let pool = make(&properties(WELL, 100)).expect("a pool");
    let (first, second) = (allocate(60, pool).expect("it fits"), allocate(40, pool).expect("it fits"));
    assert_eq!(allocate(1, pool), Err(OUT_OF_MEMORY));
    assert_eq!(put(first, 5), 0);
    assert_eq!((attribute(pool, USED), attribute(pool, HIGH)), (100, 100));
    assert_eq!((cuMemFreeAsync(first, 0), cuMemFree_v2(second)), (0, 0));
    assert_eq!((attribute(pool, USED), attribute(pool, HIGH)), (0, 100));
    assert_eq!(unsafe { cuMemPoolSetAttribute(pool, HIGH, ptr::from_ref(&0_u64).cast()) }, 0);
    assert_eq!(attribute(pool, HIGH), 0);
    assert_eq!((cuMemPoolTrimTo(pool, 0), cuMemPoolDestroy(pool), cuMemPoolDestroy(pool)), (0, 0, INVALID_VALUE));
    assert_eq!(allocate(1, pool), Err(INVALID_VALUE));
}

#[test]
fn settings_are_kept() {
    with_device(WELL);
    let pool = make(&properties(WELL, 0)).expect("a pool");
    assert_eq!((attribute(pool, 1), attribute(pool, 4)), (1, 0));
    unsafe {
        assert_eq!(cuMemPoolSetAttribute(pool, 2, ptr::from_ref(&0_u32).cast()), 0);
        assert_eq!(cuMemPoolSetAttribute(pool, 4, ptr::from_ref(&u64::MAX).cast()), 0);
        assert_eq!(cuMemPoolSetAttribute(pool, USED, ptr::from_ref(&0_u64).cast()), INVALID_VALUE);
        assert_eq!(cuMemPoolSetAttribute(pool, HIGH, ptr::from_ref(&1_u64).cast()), INVALID_VALUE);
        assert_eq!(cuMemPoolGetAttribute(pool, 9, ptr::null_mut()), INVALID_VALUE);
    }
    assert_eq!((attribute(pool, 2), attribute(pool, 4)), (0, u64::MAX));
    assert_eq!(cuMemPoolDestroy(pool), 0);
}

#[test]
fn a_device_allocates_of_the_pool_that_was_chosen() {
    with_device(OTHER);
    let (mut default, mut current, mut address) = (0, 0, 0);
    let chosen = make(&properties(OTHER, 0)).expect("a pool");
    unsafe {
        assert_eq!(cuDeviceGetDefaultMemPool(&raw mut default, OTHER), 0);
        assert_eq!((cuDeviceGetMemPool(&raw mut current, OTHER), current), (0, default));
        assert_eq!(cuDeviceSetMemPool(OTHER, chosen), 0);
        assert_eq!((cuDeviceGetMemPool(&raw mut current, OTHER), current), (0, chosen));
        assert_eq!(cuMemAllocAsync(&raw mut address, 8, 0), 0);
    }
    assert_eq!(attribute(chosen, USED), 8);
    assert_eq!(cuMemFreeAsync(address, 0), 0);
    assert_eq!(cuDeviceSetMemPool(WELL, chosen), INVALID_DEVICE);
    assert_eq!((cuMemPoolDestroy(default), cuMemPoolDestroy(chosen)), (INVALID_VALUE, 0));
    assert_eq!((unsafe { cuDeviceGetMemPool(&raw mut current, OTHER) }, current), (0, default));
}

#[test]
fn what_a_pool_cannot_be_is_refused() {
    with_device(WELL);
    let refused = |change: fn(&mut Properties)| {
        let mut wrong = properties(WELL, 0);
        change(&mut wrong);
        make(&wrong)
    };
    assert_eq!(refused(|it| it.kind = 0), Err(INVALID_VALUE));
    assert_eq!(refused(|it| it.shared = 1), Err(NOT_SUPPORTED));
    assert_eq!(refused(|it| it.location.kind = 2), Err(NOT_SUPPORTED));
    assert_eq!(refused(|it| it.location.id = 99), Err(INVALID_DEVICE));
}

#[test]
fn only_its_own_device_accesses_a_pool() {
    with_device(WELL);
    let pool = make(&properties(WELL, 0)).expect("a pool");
    let location = |id| Location { kind: 1, id };
    let mut how = 9;
    for (device, how_much, code) in [(WELL, 3, 0), (WELL, 0, INVALID_VALUE), (OTHER, 3, INVALID_DEVICE)] {
        let access = Access { location: location(device), how: how_much };
        assert_eq!(unsafe { cuMemPoolSetAccess(pool, &raw const access, 1) }, code);
    }
    for (device, expected) in [(WELL, 3), (OTHER, 0)] {
        assert_eq!((unsafe { cuMemPoolGetAccess(&raw mut how, pool, &location(device)) }, how), (0, expected));
    }
    let elsewhere = make(&properties(OTHER, 0)).expect("a pool");
    assert_eq!(allocate(4, elsewhere), Err(NOT_SUPPORTED), "the stream is of another device");
}
