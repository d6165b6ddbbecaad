//! Contexts that are not primary.

use crate::{OTHER, WELL, download, put, room, upload, with_device};
use cuda::api::driver::context::*;
use cuda::api::driver::memory::cuMemFree_v2;
use std::ptr;

const INVALID_CONTEXT: u32 = 201;
const CONTEXT_IS_DESTROYED: u32 = 709;

/// Makes a context of a device, which is then current.
fn create(device: i32) -> usize {
    let mut context = 0;
    assert_eq!(unsafe { cuCtxCreate_v4(&raw mut context, ptr::null(), 0, device) }, 0);
    context
}

fn current() -> usize {
    let mut context = 0;
    assert_eq!(unsafe { cuCtxGetCurrent(&raw mut context) }, 0);
    context
}

#[test]
fn a_new_context_is_current_until_it_is_destroyed() {
    let _room = room();
    let primary = with_device(OTHER);
    let context = create(OTHER);
    assert_ne!(context, primary);
    assert_eq!(current(), context);
    let mut device = -1;
    assert_eq!(unsafe { cuCtxGetDevice(&raw mut device) }, 0);
    assert_eq!(device, OTHER);
    assert_eq!(cuCtxDestroy_v2(context), 0);
    assert_eq!(current(), primary);
    assert_eq!(cuCtxDestroy_v2(context), INVALID_CONTEXT);
    assert_eq!(cuCtxDestroy_v2(primary), INVALID_CONTEXT, "a primary context is released");
}

#[test]
fn kernels_and_memory_work_in_it() {
    let _room = room();
    with_device(WELL);
    let context = create(WELL);
    let address = upload(&[1_u32]);
    assert_eq!(put(address, 9), 0);
    assert_eq!(download(address, 1), Ok(vec![9_u32]));
    assert_eq!(cuMemFree_v2(address), 0);
    assert_eq!(cuCtxDestroy_v2(context), 0);
}

#[test]
fn a_fault_in_it_leaves_the_primary_context_alone() {
    let _room = room();
    with_device(WELL);
    let kept = upload(&[7_u32]);
    let context = create(WELL);
    let address = upload(&[1_u32]);
    assert_eq!(put(address + 4, 9), 0);
    assert_eq!(cuCtxSynchronize(), 700);
    assert_eq!(cuCtxDestroy_v2(context), 0);
    assert_eq!(download(kept, 1), Ok(vec![7_u32]));
}

#[test]
fn what_was_pushed_is_popped() {
    let _room = room();
    let primary = with_device(WELL);
    let (first, second) = (create(WELL), create(OTHER));
    let mut popped = 0;
    assert_eq!(unsafe { cuCtxPopCurrent_v2(&raw mut popped) }, 0);
    assert_eq!((popped, current()), (second, first));
    assert_eq!(cuCtxPushCurrent_v2(primary), 0);
    assert_eq!(current(), primary);
    assert_eq!(unsafe { cuCtxPopCurrent_v2(ptr::null_mut()) }, 0);
    assert_eq!(current(), first);
    // A context that another thread destroyed is still current, and works no more.
    std::thread::scope(|scope| {
        scope.spawn(|| assert_eq!(cuCtxDestroy_v2(first), 0));
    });
    assert_eq!(cuCtxSynchronize(), CONTEXT_IS_DESTROYED);
    assert_eq!(cuCtxDestroy_v2(second), 0);
    assert_eq!(cuCtxPushCurrent_v2(second), CONTEXT_IS_DESTROYED);
}
