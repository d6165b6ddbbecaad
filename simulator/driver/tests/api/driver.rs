//! Devices, streams, modules and launches.

use crate::{PTX, WELL, allocate, download, function, load, start, with_device};
use cuda::api::driver::{context::*, device::*, error_names::*, launch::*, module::*, stream::*};
use cuda::objects::error_names::CODES;
use std::ffi::{CStr, c_void};
use std::ptr;

#[test]
fn devices_are_numbered_from_zero() {
    with_device(WELL);
    let (mut device, mut count) = (0, 0);
    unsafe {
        assert_eq!((cuDeviceGetCount(&raw mut count), count), (0, 12));
        assert_eq!((cuDeviceGet(&raw mut device, 6), device), (0, 6));
        assert_eq!(cuDeviceGet(&raw mut device, 12), 101);
        assert_eq!(cuDeviceGet(&raw mut device, -1), 101);
        assert_eq!(cuDeviceGet(ptr::null_mut(), 0), 1);
    }
}

#[test]
fn attributes_say_what_was_configured() {
    with_device(WELL);
    for (attribute, expected) in [(75, 9), (76, 0), (16, 2), (115, 1), (10, 32), (97, 227 << 10)] {
        let mut value = -1;
        assert_eq!(unsafe { cuDeviceGetAttribute(&raw mut value, attribute, WELL) }, 0);
        assert_eq!(value, expected, "attribute {attribute}");
    }
    assert_eq!(unsafe { cuDeviceGetAttribute(&mut 0, 0, WELL) }, 1);
}

#[test]
fn a_name_is_cut_to_its_buffer() {
    with_device(WELL);
    let mut name = [1; 8];
    assert_eq!(unsafe { cuDeviceGetName(name.as_mut_ptr(), 8, WELL) }, 0);
    assert_eq!(unsafe { CStr::from_ptr(name.as_ptr()) }, c"snuffer");
}

#[test]
fn a_thread_without_a_context_gets_an_error() {
    with_device(WELL);
    std::thread::spawn(|| {
        let mut current = 1;
        assert_eq!(unsafe { cuCtxGetCurrent(&raw mut current) }, 0);
        assert_eq!((current, cuCtxSynchronize()), (0, 201));
        assert_eq!(cuCtxSetCurrent(0xbad), 201);
    })
    .join()
    .unwrap();
}

#[test]
fn every_code_has_a_name_and_a_text_and_no_other_has() {
    let mut text = ptr::null();
    for &(code, name, _) in CODES {
        assert!(name.to_str().unwrap().starts_with("CUDA_"));
        assert_eq!(unsafe { cuGetErrorString(code, &raw mut text) }, 0, "{code}");
        assert!(!unsafe { CStr::from_ptr(text) }.is_empty());
        assert_eq!(unsafe { cuGetErrorName(code, &raw mut text) }, 0);
        assert_eq!(unsafe { CStr::from_ptr(text) }, name);
    }
    assert_eq!(unsafe { cuGetErrorString(12345, &raw mut text) }, 1);
    assert!(text.is_null());
}

unsafe extern "C" {
    fn cuGraphConditionalHandleCreate() -> u32;
    fn cublasSsymm_v2() -> u32;
    fn curandGeneratePoisson() -> u32;
    fn nvrtcCompileProgram() -> u32;
}

#[test]
fn functions_that_are_not_simulated_return_the_code_of_their_library() {
    assert_eq!(unsafe { [cuGraphConditionalHandleCreate(), cuGraphConditionalHandleCreate()] }, [801, 801]);
    assert_eq!(unsafe { [cublasSsymm_v2(), curandGeneratePoisson(), nvrtcCompileProgram()] }, [15, 103, 11]);
}

#[test]
fn events_and_streams_are_handles_that_die() {
    with_device(WELL);
    let (mut stream, mut start, mut end, mut passed) = (0, 0, 0, -1.0);
    unsafe {
        assert_eq!(cuStreamCreate(&raw mut stream, 1), 0);
        assert_eq!(cuEventCreate(&raw mut start, 0), 0);
        assert_eq!(cuEventCreate(&raw mut end, 0), 0);
        assert_eq!(cuEventElapsedTime_v2(&raw mut passed, start, end), 400, "they were not recorded");
        assert_eq!((cuEventRecord(start, stream), cuEventRecord(end, 0)), (0, 0));
        assert_eq!(cuEventElapsedTime_v2(&raw mut passed, start, end), 0);
    }
    assert!(passed >= 0.0);
    assert_eq!(cuStreamWaitEvent(stream, end, 0), 0);
    assert_eq!((cuEventDestroy_v2(end), cuEventDestroy_v2(end)), (0, 400));
    assert_eq!(cuStreamWaitEvent(stream, end, 0), 400);
    assert_eq!((cuStreamDestroy_v2(stream), cuStreamSynchronize(stream)), (0, 400));
}

#[test]
fn an_event_belongs_to_the_streams_of_its_context() {
    with_device(WELL);
    let mut event = 0;
    assert_eq!(unsafe { cuEventCreate(&raw mut event, 2) }, 0);
    with_device(crate::OTHER);
    assert_eq!(cuEventRecord(event, 0), 400);
}

#[test]
fn a_module_is_refused_for_the_reason_it_has() {
    with_device(WELL);
    let with = |from: &str, to: &str| {
        let text = PTX.to_str().unwrap().replace(from, to);
        load(&std::ffi::CString::new(text).unwrap())
    };
    assert_eq!(with("sm_80", "sm_999"), Err(209));
    assert_eq!(with(".version 9.0", ".version 99.0"), Err(222));
    assert_eq!(load(c"this is no PTX"), Err(218));
    assert_eq!(unsafe { cuModuleLoad(&mut 0, c"/no/such/file".as_ptr()) }, 301);
    assert_eq!(unsafe { cuModuleLoadData(&mut 0, c"\x7fELF".as_ptr().cast()) }, 209);
}

#[test]
fn a_module_finds_its_functions_and_variables_until_it_is_unloaded() {
    with_device(WELL);
    let module = load(PTX).unwrap();
    let (mut first, mut again, mut address, mut bytes) = (0, 0, 0, 0);
    unsafe {
        assert_eq!(cuModuleGetFunction(&raw mut first, module, c"narrow".as_ptr()), 0);
        assert_eq!(cuModuleGetFunction(&raw mut again, module, c"narrow".as_ptr()), 0);
        assert_eq!(cuModuleGetFunction(&raw mut again, module, c"missing".as_ptr()), 500);
        assert_eq!(cuModuleGetGlobal_v2(&raw mut address, &raw mut bytes, module, c"counter".as_ptr()), 0);
        assert_eq!(cuModuleGetGlobal_v2(&raw mut address, ptr::null_mut(), module, c"missing".as_ptr()), 500);
    }
    assert_eq!(first, again);
    assert_eq!((bytes, download(address, 1)), (4, Ok(vec![7_u32])));
    assert_eq!((cuModuleUnload(module), cuModuleUnload(module)), (0, 400));
    assert_eq!(start(first, [[1; 3]; 2], 0, ptr::null()), 400);
}

#[test]
fn a_launch_is_refused_for_sizes_that_no_device_takes() {
    with_device(WELL);
    let narrow = function(c"narrow");
    let size = |grid, block, shared| start(narrow, [grid, block], shared, ptr::null());
    assert_eq!(size([1, 1, 1], [64, 1, 1], 0), 0);
    assert_eq!(size([0, 1, 1], [64, 1, 1], 0), 1, "an empty grid");
    assert_eq!(size([1, 1, 1], [0, 1, 1], 0), 1, "an empty block");
    assert_eq!(size([1, 65536, 1], [1, 1, 1], 0), 1, "a grid too high");
    assert_eq!(size([1, 1, 1], [1, 1, 65], 0), 1, "a block too deep");
    assert_eq!(size([1, 1, 1], [65, 1, 1], 0), 1, "more threads than .maxntid");
    assert_eq!(size([1, 1, 1], [1, 1, 1], (48 << 10) + 1), 1, "more shared memory than is given unasked");
    assert_eq!(cuFuncSetAttribute(narrow, 8, 64 << 10), 0);
    assert_eq!(size([1, 1, 1], [1, 1, 1], (48 << 10) + 1), 0);
    assert_eq!(cuFuncSetAttribute(narrow, 8, (227 << 10) + 1), 1);
    let put = function(c"put");
    assert_eq!(start(put, [[1; 3], [1025, 1, 1]], 0, ptr::null()), 1, "a block too wide");
    assert_eq!(start(put, [[1; 3], [1024, 2, 1]], 0, ptr::null()), 1, "a block of too many threads");
}

#[test]
fn a_launch_needs_the_parameters_of_its_kernel() {
    with_device(WELL);
    let put = function(c"put");
    let address = allocate(4);
    assert_eq!(start(put, [[1; 3]; 2], 0, ptr::null()), 1);
    let values: [*const c_void; 2] = [(&raw const address).cast(), ptr::null()];
    assert_eq!(start(put, [[1; 3]; 2], 0, values.as_ptr()), 1);
    let extra = [ptr::null()];
    let code = unsafe { cuLaunchKernel(put, 1, 1, 1, 1, 1, 1, 0, 0, ptr::null(), extra.as_ptr()) };
    assert_eq!(code, 801);
    assert_eq!(start(0, [[1; 3]; 2], 0, ptr::null()), 400);
}
