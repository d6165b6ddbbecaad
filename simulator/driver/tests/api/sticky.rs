//! A kernel's error comes late and stays.

use crate::{BROKEN, allocate, download, function, put, start, upload, with_device};
use cuda::api::driver::{context::*, device::*, memory::*, stream::*};
use cuda::api::{cublas::*, curand::*};
use std::ptr;

const ILLEGAL_ADDRESS: u32 = 700;

#[test]
fn an_error_sticks_from_the_first_wait_until_the_context_is_destroyed() {
    let context = with_device(BROKEN);
    let (mut event, mut handle, mut generator) = (0, 0, 0);
    unsafe {
        assert_eq!(cuEventCreate(&raw mut event, 2), 0);
        assert_eq!(cublasCreate_v2(&raw mut handle), 0);
        assert_eq!(curandCreateGenerator(&raw mut generator, 100), 0);
    }
    let address = upload(&[1_u32]);
    let narrow = function(c"narrow");

    // The launch succeeds, and later work is dropped.
    assert_eq!(put(address + 4, 9), 0);
    assert_eq!(put(address, 9), 0);
    assert_eq!(cuMemsetD8Async(address, 0, 4, 0), 0);
    assert_eq!(cuEventRecord(event, 0), 0);
    assert_ne!(allocate(4), 0);

    // The copy to the host returns the error, and so does every later call that works on the context.
    assert_eq!(download::<u32>(address, 1), Err(ILLEGAL_ADDRESS));
    assert_eq!(download::<u32>(address, 1), Err(ILLEGAL_ADDRESS));
    assert_eq!(start(narrow, [[1; 3]; 2], 0, ptr::null()), ILLEGAL_ADDRESS);
    assert_eq!(unsafe { cuMemAllocAsync(&mut 0, 4, 0) }, ILLEGAL_ADDRESS);
    assert_eq!(unsafe { cuMemcpyHtoDAsync_v2(address, [0_u8; 4].as_ptr().cast(), 4, 0) }, ILLEGAL_ADDRESS);
    assert_eq!(cuCtxSynchronize(), ILLEGAL_ADDRESS);
    assert_eq!(cuStreamSynchronize(0), ILLEGAL_ADDRESS);
    assert_eq!(cuMemFreeAsync(address, 0), ILLEGAL_ADDRESS);
    assert_eq!(cuEventDestroy_v2(event), ILLEGAL_ADDRESS);
    assert_eq!(crate::load(crate::PTX), Err(ILLEGAL_ADDRESS));
    assert_eq!(curandGenerateUniform(generator, address, 1), 201);

    // Calls that only query properties, or release handles of the libraries, still succeed.
    assert_eq!(unsafe { cuDeviceGetAttribute(&mut 0, 75, BROKEN) }, 0);
    assert_eq!(cuCtxSetCurrent(context), 0);
    assert_eq!(curandDestroyGenerator(generator), 0);
    assert_eq!(cublasDestroy_v2(handle), 0);

    assert_eq!(cuDevicePrimaryCtxRelease_v2(BROKEN), 0);
    assert_eq!(cuDevicePrimaryCtxRelease_v2(BROKEN), 201, "it is not retained any more");
    assert_eq!(cuCtxSynchronize(), 709);
    with_device(BROKEN);
    assert_eq!(download(upload(&[3_u32]), 1), Ok(vec![3_u32]));
}
