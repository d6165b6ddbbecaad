//! What a program asks of a context, the occupancy of kernels, and the functions of older versions of CUDA.

use crate::{OTHER, WELL, allocate, download, function, load, put, room, start, upload, with_device};
use cuda::api::driver::{
    context::*, device::*, host::*, launch::*, managed::*, memory::*, module::*, occupancy::*, older::*,
    preferences::*, stream::*,
};
use std::ffi::{CStr, c_void};
use std::ptr;

const INVALID_VALUE: u32 = 1;
const UNSUPPORTED_LIMIT: u32 = 215;
const INVALID_HANDLE: u32 = 400;

#[test]
fn a_context_keeps_what_it_was_asked() {
    let _room = room();
    with_device(OTHER);
    let mut context = 0;
    assert_eq!(unsafe { cuCtxCreate_v2(&raw mut context, 0, OTHER) }, 0);
    let (mut limit, mut kept, mut version) = (0, 9, 0);
    unsafe {
        assert_eq!((cuCtxGetLimit(&raw mut limit, 0), limit), (0, 1024));
        assert_eq!(cuCtxSetLimit(0, 4096), 0);
        assert_eq!((cuCtxGetLimit(&raw mut limit, 0), limit), (0, 4096));
        assert_eq!(cuCtxSetLimit(7, 1), UNSUPPORTED_LIMIT);
        assert_eq!((cuCtxSetCacheConfig(2), cuCtxGetCacheConfig(&raw mut kept), kept), (0, 0, 2));
        assert_eq!((cuCtxSetSharedMemConfig(2), cuCtxGetSharedMemConfig(&raw mut kept), kept), (0, 0, 2));
        assert_eq!((cuCtxSetCacheConfig(4), cuCtxSetSharedMemConfig(3)), (INVALID_VALUE, INVALID_VALUE));
        assert_eq!((cuCtxGetFlags(&raw mut kept), kept), (0, 0));
        assert_eq!((cuCtxGetApiVersion(context, &raw mut version), version), (0, 3020));
        assert_eq!(cuCtxGetStreamPriorityRange(ptr::null_mut(), ptr::null_mut()), 0);
    }
    assert_eq!((cuProfilerStart(), cuProfilerStop()), (0, 0));
    assert_eq!(cuCtxDestroy(context), 0);
}

#[test]
fn values_of_each_width_fill_memory() {
    with_device(WELL);
    let address = allocate(16);
    assert_eq!(cuMemsetD32_v2(address, 0x0102_0304, 4), 0);
    assert_eq!(cuMemsetD16_v2(address + 4, 0x0506, 2), 0);
    assert_eq!(cuMemsetD8_v2(address + 8, 7, 1), 0);
    assert_eq!(download(address, 4), Ok(vec![0x0102_0304_u32, 0x0506_0506, 0x0102_0307, 0x0102_0304]));
    assert_eq!(cuMemsetD32_v2(address + 2, 0, 1), INVALID_VALUE, "misaligned");
    assert_eq!(cuMemsetD16_v2(address + 1, 0, 1), INVALID_VALUE, "misaligned");
    assert_eq!(cuMemsetD32Async(address, 0, 5, 0), INVALID_VALUE, "past the end");
    assert_eq!(cuMemsetD16Async(address, 0, usize::MAX, 0), INVALID_VALUE, "more than there is");
}

#[test]
fn occupancy_is_limited_by_threads_and_shared_memory() {
    with_device(WELL);
    let put = function(c"put");
    let blocks = |threads, shared| {
        let mut blocks = -1;
        let code = unsafe { cuOccupancyMaxActiveBlocksPerMultiprocessor(&raw mut blocks, put, threads, shared) };
        assert_eq!(code, 0);
        blocks
    };
    assert_eq!(
        [blocks(1024, 0), blocks(1, 0), blocks(100, 0), blocks(32, 100 << 10), blocks(2000, 0)],
        [2, 32, 16, 2, 0]
    );
    let (mut grid, mut block, mut shared) = (0, 0, 0);
    unsafe {
        assert_eq!(cuOccupancyMaxPotentialBlockSize(&raw mut grid, &raw mut block, put, None, 0, 0), 0);
        assert_eq!((grid, block), (4, 1024), "two multiprocessors, two blocks each");
        assert_eq!(cuOccupancyMaxPotentialBlockSize(&raw mut grid, &raw mut block, put, None, 0, 100), 0);
        assert_eq!((grid, block), (64, 64), "32 blocks of two warps hold more threads than 16 of four");
        assert_eq!(cuOccupancyAvailableDynamicSMemPerBlock(&raw mut shared, put, 2, 1024), 0);
        assert_eq!(shared, (228 << 10) / 2 - 1024);
        assert_eq!(cuOccupancyAvailableDynamicSMemPerBlock(&raw mut shared, put, 3, 1024), INVALID_VALUE);
    }
}

#[test]
fn hints_for_a_kernel_are_taken() {
    with_device(WELL);
    let put = function(c"put");
    assert_eq!((cuFuncSetCacheConfig(put, 3), cuFuncSetSharedMemConfig(put, 2)), (0, 0));
    assert_eq!((cuFuncSetCacheConfig(put, 4), cuFuncSetSharedMemConfig(0xbad, 0)), (INVALID_VALUE, INVALID_HANDLE));
}

#[test]
fn a_kernel_is_launched_by_a_configuration() {
    with_device(WELL);
    let (address, value, put) = (upload(&[0_u32]), 5_u32, function(c"put"));
    let values = [(&raw const address).cast::<c_void>(), (&raw const value).cast()];
    let plain =
        || Configuration { grid: [1; 3], block: [1; 3], shared: 0, stream: 0, attributes: ptr::null(), count: 0 };
    let launch = |with: &Configuration| unsafe { cuLaunchKernelEx(with, put, values.as_ptr(), ptr::null()) };
    assert_eq!(launch(&plain()), 0);
    assert_eq!(download(address, 1), Ok(vec![5_u32]));
    assert_eq!(launch(&Configuration { count: 1, ..plain() }), INVALID_VALUE);
    assert_eq!(launch(&Configuration { block: [2000, 1, 1], ..plain() }), INVALID_VALUE);
    assert_eq!(start(put, [[1; 3]; 2], 0, values.as_ptr()), 0);
}

#[test]
fn a_callback_gets_its_stream_and_its_data() {
    unsafe extern "C" fn keep(stream: usize, code: u32, data: *mut c_void) {
        unsafe { data.cast::<(usize, u32)>().write((stream, code)) };
    }
    with_device(WELL);
    let (mut stream, mut seen) = (0, (0, 9));
    let (mut flags, mut priority) = (9, 9);
    unsafe {
        assert_eq!(cuStreamCreate(&raw mut stream, 1), 0);
        assert_eq!(cuStreamAddCallback(stream, Some(keep), (&raw mut seen).cast(), 0), 0);
        assert_eq!(cuStreamSynchronize(stream), 0);
        assert_eq!(seen, (stream, 0));
        assert_eq!(cuStreamAddCallback(stream, Some(keep), ptr::null_mut(), 1), INVALID_VALUE);
        assert_eq!(cuStreamAddCallback(stream, None, ptr::null_mut(), 0), INVALID_VALUE);
        assert_eq!((cuStreamGetFlags(stream, &raw mut flags), flags), (0, 1));
        assert_eq!((cuStreamGetFlags(0, &raw mut flags), flags), (0, 0));
        assert_eq!((cuStreamGetPriority(stream, &raw mut priority), priority), (0, 0));
    }
    assert_eq!(cuStreamDestroy(stream), 0);
}

#[test]
fn older_functions_do_what_the_newer_ones_do() {
    with_device(WELL);
    let (mut old, mut new) = ([0; 16], [1; 16]);
    let (mut managed, mut module) = (0, 0);
    unsafe {
        assert_eq!((cuDeviceGetUuid(&raw mut old, WELL), cuDeviceGetUuid_v2(&raw mut new, WELL)), (0, 0));
        assert_eq!(old, new);
        assert_eq!(cuMemAllocManaged(&raw mut managed, 8, 1), 0);
        let text = crate::PTX.as_ptr().cast();
        assert_eq!(cuModuleLoadDataEx(&raw mut module, text, 0, ptr::null(), ptr::null()), 0);
        assert_eq!(cuModuleLoadFatBinary(&raw mut module, text), 0);
    }
    for (device, code) in [(WELL, 0), (-1, 0), (99, 101)] {
        assert_eq!((cuMemAdvise(managed, 8, 1, device), cuMemPrefetchAsync(managed, 8, device, 0)), (code, code));
    }
    assert_eq!(put(managed, 3), 0);
    assert!(load(c"no PTX").is_err());
}

#[test]
fn events_of_two_contexts_have_no_time_between_them() {
    let _room = room();
    with_device(WELL);
    let event = || {
        let mut event = 0;
        assert_eq!(unsafe { cuEventCreate(&raw mut event, 0) }, 0);
        assert_eq!(cuEventRecordWithFlags(event, 0, 0), 0);
        event
    };
    let (first, second, mut context, mut milliseconds) = (event(), event(), 0, -1.0);
    unsafe {
        assert_eq!(cuEventElapsedTime(&raw mut milliseconds, first, second), 0);
        assert!(milliseconds >= 0.0);
        assert_eq!(cuCtxCreate_v2(&raw mut context, 0, WELL), 0);
        assert_eq!(cuEventElapsedTime(&raw mut milliseconds, first, event()), INVALID_HANDLE);
    }
    assert_eq!(cuEventRecordWithFlags(first, 0, 2), INVALID_VALUE);
    assert_eq!(cuEventDestroy(first), 0);
    assert_eq!(cuCtxDestroy(context), 0);
}

#[test]
fn a_copy_finds_out_what_it_copies_between() {
    with_device(WELL);
    let at = |value: &mut u32| ptr::from_mut(value).expose_provenance() as u64;
    let (device, other, mut first, mut second) = (upload(&[1_u32]), allocate(4), 2, 3);
    let (first, second) = (at(&mut first), at(&mut second));
    let host = |address: u64| unsafe { ptr::with_exposed_provenance::<u32>(address as usize).read() };
    unsafe {
        assert_eq!((cuMemcpy(first, device, 4), host(first)), (0, 1), "to the host");
        assert_eq!((cuMemcpyAsync(second, first, 4, 0), host(second)), (0, 1), "within the host");
        assert_eq!((put(device, 7), cuMemcpy(other, device, 4)), (0, 0), "within the device");
        assert_eq!(cuMemcpy(device, second, 4), 0, "to the device");
        assert_eq!(cuMemcpy(first, device + 4, 4), INVALID_VALUE, "past the end");
    }
    assert_eq!((download(device, 1), download(other, 1)), (Ok(vec![1_u32]), Ok(vec![7_u32])));
}

#[test]
fn devices_have_places_on_the_bus_and_no_peers() {
    with_device(WELL);
    let mut id = [0; 16];
    let mut can = 9;
    unsafe {
        assert_eq!(cuDeviceGetPCIBusId(id.as_mut_ptr(), 16, OTHER), 0);
        assert_eq!(CStr::from_ptr(id.as_ptr()), c"0000:02:00.0");
        assert_eq!((cuDeviceCanAccessPeer(&raw mut can, WELL, OTHER), can), (0, 0));
        assert_eq!(cuDeviceCanAccessPeer(&raw mut can, WELL, 99), 101);
    }
    assert_eq!(cuDevicePrimaryCtxSetFlags(WELL, 4), 0);
    let mut handle = 0;
    assert_eq!(unsafe { cuDevicePrimaryCtxRetain(&raw mut handle, WELL) }, 0);
    assert_eq!(cuDevicePrimaryCtxRelease(WELL), 0);
}
