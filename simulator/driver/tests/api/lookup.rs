//! Functions by their names.

use crate::{WELL, with_device};
use cuda::api::driver::context::*;
use cuda::api::driver::lookup::*;
use cuda::api::driver::memory::cuMemAlloc_v2;
use cuda::api::driver::stream::cuEventCreate;
use std::ffi::{CStr, c_void};
use std::ptr;

const INVALID_VALUE: u32 = 1;
const NOT_FOUND: u32 = 500;

fn find(name: &CStr, version: i32) -> *const c_void {
    find_with(name, version, 0)
}

fn find_with(name: &CStr, version: i32, flags: u64) -> *const c_void {
    let (mut found, mut status) = (ptr::null(), 9);
    let code = unsafe { cuGetProcAddress_v2(name.as_ptr(), &raw mut found, version, flags, &raw mut status) };
    assert_eq!((code, status), if found.is_null() { (NOT_FOUND, 1) } else { (0, 0) });
    found
}

#[test]
fn a_program_gets_the_form_of_its_version() {
    with_device(WELL);
    assert_eq!(find(c"cuMemAlloc", 11_000), cuMemAlloc_v2 as *const c_void);
    assert_eq!(find(c"cuEventCreate", 11_000), cuEventCreate as *const c_void);
    assert_eq!(find(c"cuCtxCreate", 11_000), cuCtxCreate_v2 as *const c_void);
    assert_eq!(find(c"cuCtxCreate", 12_000), cuCtxCreate_v3 as *const c_void);
    assert_eq!(find(c"cuCtxCreate", 13_000), cuCtxCreate_v4 as *const c_void);
    assert!(!find(c"cuMemPoolCreate", 12_000).is_null(), "what is not simulated says so when it is called");
    assert!(find(c"cuNothing", 12_000).is_null());
}

#[test]
fn what_it_cannot_look_up_is_refused() {
    with_device(WELL);
    let mut found = ptr::null();
    unsafe {
        assert_eq!(cuGetProcAddress(c"cuInit".as_ptr(), &raw mut found, 12_000, 0), 0);
        assert_eq!(cuGetProcAddress(ptr::null(), &raw mut found, 12_000, 0), INVALID_VALUE);
        assert_eq!(cuGetProcAddress(c"cuInit".as_ptr(), ptr::null_mut(), 12_000, 0), INVALID_VALUE);
        assert_eq!(cuGetProcAddress(c"cuInit".as_ptr(), &raw mut found, 12_000, 3), INVALID_VALUE);
        assert_eq!(cuGetProcAddress(c"cuInit".as_ptr(), &raw mut found, 12_000, 2), 0);
    }
}

#[test]
fn a_program_that_is_compiled_for_per_thread_default_streams_gets_the_functions_that_use_them() {
    with_device(WELL);
    for (name, has_its_own) in
        [(c"cuLaunchKernel", true), (c"cuMemcpyHtoD", true), (c"cuMemsetD8", true), (c"cuMemAlloc", false)]
    {
        let (shared, own) = (find_with(name, 12_000, 1), find_with(name, 12_000, 2));
        assert_eq!((shared == find(name, 12_000), shared != own), (true, has_its_own), "{name:?}");
    }
}
