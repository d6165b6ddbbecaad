//! Kernels that are linked statically, and the runtime library under them.

use crate::{BROKEN_BY_RUNTIME, WELL, download, with_device};
use cuda::context::cuCtxSynchronize;
use cuda::{runtime::*, runtime_memory::*};
use std::ffi::CStr;
use std::ptr;

fn register(function: usize, name: &CStr) {
    let null = ptr::null_mut();
    unsafe {
        __cudaRegisterFunction(
            ptr::null_mut(),
            function,
            ptr::null_mut(),
            name.as_ptr(),
            -1,
            null,
            null,
            null,
            null,
            ptr::null_mut(),
        );
    }
}

fn size(x: u32) -> Dim3 {
    Dim3 { sizes: [x, 1, 1] }
}

#[test]
fn an_unsupported_launch_says_so_and_breaks_the_context() {
    with_device(BROKEN_BY_RUNTIME);
    register(0x1000, c"_Z3mmqv");
    let (mut handle, mut code) = (0, 0);
    assert_eq!(unsafe { __cudaGetKernel(&raw mut handle, 0x1000) }, 0);
    assert_eq!(unsafe { __cudaGetKernel(&raw mut code, 0x1001) }, 98);
    assert_eq!(cudaGetLastError(), 98);

    let launch = |block, shared| __cudaLaunchKernel_ptsz(handle, size(1), size(block), ptr::null_mut(), shared, 0);
    assert_eq!(launch(2048, 0), 9, "a block too wide");
    assert_eq!(launch(32, 64 << 10), 1, "more shared memory than is given unasked");
    assert_eq!((cudaPeekAtLastError(), cudaGetLastError(), cudaGetLastError()), (1, 1, 0));
    assert_eq!(cuCtxSynchronize(), 0, "a bad configuration breaks nothing");

    assert_eq!(cudaFuncSetAttribute(0x1000, 8, 64 << 10), 0);
    assert_eq!(launch(32, 64 << 10), 801);
    assert_eq!(cuCtxSynchronize(), 801);
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
    let name = unsafe { CStr::from_ptr(cuda::texts::cudaGetErrorName(801)) };
    assert_eq!(name, c"cudaErrorNotSupported");
}
