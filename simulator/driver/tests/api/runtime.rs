//! Kernels that are linked statically, and the runtime library under them.

use crate::{BROKEN_BY_LINKED, BROKEN_BY_RUNTIME, PTX, WELL, allocate, download, upload, with_device};
use cuda::api::driver::context::cuCtxSynchronize;
use cuda::api::runtime::{device::*, error_names::*, kernel::*, launch::*, memory::*, registration::*, *};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use std::ffi::{CStr, c_void};
use std::ptr;

const SHARED: &CStr = c"
.version 9.0
.target sm_80
.address_size 64

.extern .shared .align 16 .b8 dynamic[];

.visible .entry _Z6sharedPj(
    .param .u64 out
)
.maxntid 256, 1, 1
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<3>;
    .shared .align 4 .b8 tile[1024];

    ld.param.u64 %rd1, [out];
    mov.u32 %r1, 7;
    st.shared.u32 [tile+1020], %r1;
    st.shared.u32 [dynamic+65532], %r1;
    ld.shared.u32 %r2, [tile+1020];
    st.global.u32 [%rd1], %r2;
    ret;
}

.visible .entry _Z3mmav()
{
    .reg .b32 %r<2>;
    mma.sync.aligned.some.other.form %r1, %r1;
    ret;
}
";

/// A registered fat binary of one entry; kind 1 is PTX.
fn register(kind: u64, text: &CStr, compress: bool) -> *mut *mut c_void {
    let text = text.to_bytes_with_nul();
    let mut payload = if compress { compress_to_vec(text, CompressionLevel::Fastest) } else { text.to_vec() };
    let compressed = if compress { payload.len() as u64 } else { 0 };
    let flags = if compress { 0x8011 } else { 0x11 };
    payload.resize(payload.len().next_multiple_of(8), 0);
    let size = payload.len() as u64;
    // Version and kind, the header's size and the payload's; the architecture; flags; the size of the text.
    let header = [kind | 64 << 32, size, compressed, 80 << 32, 0, flags, 0, text.len() as u64];
    let mut bytes = [0x0010_0001_ba55_ed50, 64 + size].map(u64::to_le_bytes).concat();
    bytes.extend(header.map(u64::to_le_bytes).concat());
    bytes.extend(payload);
    let fat_binary: *mut u8 = bytes.leak().as_mut_ptr();
    let wrapper = Box::leak(Box::new([0x1_4662_43b1, fat_binary.expose_provenance(), 0]));
    __cudaRegisterFatBinary(ptr::from_mut(wrapper).cast())
}

/// A kernel, by the address that it has on the host.
fn kernel(binary: *mut *mut c_void, name: &CStr, function: usize) -> usize {
    let (null, mut handle) = (ptr::null_mut(), 0);
    let no_size = ptr::null_mut();
    unsafe {
        let host = ptr::null_mut();
        __cudaRegisterFunction(binary, function, host, name.as_ptr(), -1, null, null, null, null, no_size);
        assert_eq!(__cudaGetKernel(&raw mut handle, function), 0);
    }
    handle
}

fn size(x: u32) -> Dim3 {
    Dim3 { sizes: [x, 1, 1] }
}

fn launch(handle: usize, block: u32, values: &[*const c_void], shared: usize) -> u32 {
    unsafe { __cudaLaunchKernel_ptsz(handle, size(1), size(block), values.as_ptr(), shared, 0) }
}

#[test]
fn a_linked_kernel_runs() {
    with_device(WELL);
    for (compress, function) in [(false, 0x1000), (true, 0x1001)] {
        let put = kernel(register(1, PTX, compress), c"put", function);
        let (address, value) = (allocate(4), function as u32);
        let values = [(&raw const address).cast(), (&raw const value).cast()];
        assert_eq!([launch(put, 1, &values, 0), launch(put, 32, &values, 0)], [0, 0]);
        assert_eq!(download(address, 1), Ok(vec![value]));
    }
}

#[test]
fn a_linked_kernel_is_launched_cooperatively() {
    with_device(WELL);
    let meet = kernel(register(1, crate::cooperative::PTX, true), c"meet", 0x6000);
    let words = upload(&[0_u32; 2]);
    let values = [(&raw const words).cast()];
    let launch =
        |blocks| unsafe { cudaLaunchCooperativeKernel_ptsz(meet, size(blocks), size(1), values.as_ptr(), 0, 0) };
    assert_eq!(launch(3), 0);
    assert_eq!(download(words, 2), Ok(vec![3_u32, 9]));
    assert_eq!((launch(1000), cudaGetLastError()), (720, 720));
}

#[test]
fn shared_memory_is_given_when_it_was_asked_for() {
    with_device(WELL);
    let binary = register(1, SHARED, true);
    let shared = kernel(binary, c"_Z6sharedPj", 0x2000);
    let address = allocate(4);
    let values = [(&raw const address).cast()];
    let mut attributes = unsafe { std::mem::zeroed() };
    assert_eq!(unsafe { cudaFuncGetAttributes(&raw mut attributes, 0x2000) }, 0);
    let Attributes { shared: known, threads, dynamic_shared, .. } = attributes;
    assert_eq!((known, threads, dynamic_shared), (1024, 256, 47 << 10));

    assert_eq!(launch(shared, 32, &values, 64 << 10), 1, "more than is given unasked");
    assert_eq!(cudaFuncSetAttribute(0x2000, 8, 227 << 10), 1, "more than there is");
    assert_eq!(cudaFuncSetAttribute(0x2000, 8, 64 << 10), 0);
    assert_eq!(launch(shared, 32, &values, 64 << 10), 0);
    assert_eq!(download(address, 1), Ok(vec![7_u32]));

    let mut blocks = -1;
    let mut occupancy = |threads, dynamic| unsafe {
        let code = cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&raw mut blocks, 0x2000, threads, dynamic, 0);
        (code, blocks)
    };
    assert_eq!([occupancy(200, 0), occupancy(1, 0), occupancy(257, 0)], [(0, 9), (0, 32), (0, 0)]);
    // 228 KiB by 64, and one each for the kernel and the system.
    assert_eq!(occupancy(32, 64 << 10), (0, 3));

    __cudaUnregisterFatBinary(binary);
    assert_eq!(launch(shared, 32, &values, 0), 98);
}

#[test]
fn a_bad_configuration_is_the_last_error_and_breaks_nothing() {
    with_device(WELL);
    let narrow = kernel(register(1, PTX, false), c"narrow", 0x3000);
    let mut handle = 0;
    assert_eq!(unsafe { __cudaGetKernel(&raw mut handle, 0x3001) }, 98);
    assert_eq!(cudaGetLastError(), 98);
    assert_eq!(launch(narrow, 2048, &[], 0), 9);
    assert_eq!(launch(narrow, 65, &[], 0), 1);
    assert_eq!((cudaPeekAtLastError(), cudaGetLastError(), cudaGetLastError()), (1, 1, 0));
    assert_eq!((launch(narrow, 64, &[], 0), cuCtxSynchronize()), (0, 0));
}

#[test]
fn an_unknown_instruction_breaks_the_context() {
    with_device(BROKEN_BY_RUNTIME);
    let mma = kernel(register(1, SHARED, false), c"_Z3mmav", 0x4000);
    assert_eq!(launch(mma, 32, &[], 0), 0);
    assert_eq!(cuCtxSynchronize(), 801);
    assert_eq!(launch(mma, 32, &[], 0), 801);
}

#[test]
fn a_fat_binary_of_machine_code_breaks_the_context() {
    with_device(BROKEN_BY_LINKED);
    let kernel = kernel(register(2, c"", false), c"_Z3foov", 0x5000);
    assert_eq!((launch(kernel, 32, &[], 0), cudaGetLastError()), (209, 209));
    assert_eq!(cuCtxSynchronize(), 209);
}

#[test]
fn configurations_are_taken_back_in_reverse() {
    let (mut grid, mut block, mut shared, mut stream) = (size(0), size(0), 0, 0);
    __cudaPushCallConfiguration(size(1), size(2), 3, 4);
    __cudaPushCallConfiguration(size(5), size(6), 7, 8);
    let mut pop = || unsafe {
        let code = __cudaPopCallConfiguration(&raw mut grid, &raw mut block, &raw mut shared, &raw mut stream);
        (code, grid.sizes[0], block.sizes[0], shared, stream)
    };
    assert_eq!(pop(), (0, 5, 6, 7, 8));
    assert_eq!(pop(), (0, 1, 2, 3, 4));
    assert_eq!(pop().0, 52);
}

#[test]
fn memory_is_that_of_the_chosen_device() {
    with_device(WELL);
    std::thread::spawn(|| {
        let (mut device, mut address) = (-1, 0);
        assert_eq!(cudaSetDevice(1), 0);
        assert_eq!(cudaSetDevice(77), 101);
        unsafe {
            assert_eq!((cudaGetDevice(&raw mut device), device), (0, 1));
            assert_eq!(cudaMalloc(&raw mut address, 4), 0);
        }
        assert_eq!(cudaMemsetAsync_ptsz(address, 1, 4, 0), 0);
        assert_eq!(download(address, 1), Ok(vec![0x0101_0101_u32]));
        assert_eq!((cudaFree(address), cudaFree(0)), (0, 0));
    })
    .join()
    .unwrap();
}

#[test]
fn errors_have_the_names_of_the_runtime() {
    let name = unsafe { CStr::from_ptr(cudaGetErrorName(801)) };
    assert_eq!(name, c"cudaErrorNotSupported");
}
