//! The driver's functions by their names, for programs that do not link them.

use crate::api::put;
use crate::objects::codes::{Code, INVALID_VALUE, NOT_FOUND};
use crate::objects::process::call;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;

mod exports {
    include!(concat!(env!("OUT_DIR"), "/exports.rs"));
}

/// The versions of CUDA since when some forms exist. The other forms are older than any program that asks.
const SINCE: &[(c_int, &[&str])] = &[
    (11_030, &["cuStreamGetCaptureInfo_v2"]),
    (11_040, &["cuDeviceGetUuid_v2", "cuCtxCreate_v3"]),
    (
        11_070,
        &[
            "cuStreamBatchMemOp_v2",
            "cuStreamWaitValue32_v2",
            "cuStreamWaitValue64_v2",
            "cuStreamWriteValue32_v2",
            "cuStreamWriteValue64_v2",
        ],
    ),
    (
        12_000,
        &[
            "cuGetProcAddress_v2",
            "cuGraphAddKernelNode_v2",
            "cuGraphExecKernelNodeSetParams_v2",
            "cuGraphExecUpdate_v2",
            "cuGraphKernelNodeGetParams_v2",
            "cuGraphKernelNodeSetParams_v2",
        ],
    ),
    (12_020, &["cuMemAdvise_v2", "cuMemPrefetchAsync_v2"]),
    (
        12_030,
        &[
            "cuGraphAddDependencies_v2",
            "cuGraphAddNode_v2",
            "cuGraphGetEdges_v2",
            "cuGraphNodeGetDependencies_v2",
            "cuGraphNodeGetDependentNodes_v2",
            "cuGraphRemoveDependencies_v2",
            "cuStreamGetCaptureInfo_v3",
            "cuStreamUpdateCaptureDependencies_v2",
        ],
    ),
    (12_050, &["cuCtxCreate_v4"]),
    (12_080, &["cuEventElapsedTime_v2"]),
    (13_000, &["cuMemcpy3DBatchAsync_v2", "cuMemcpyBatchAsync_v2"]),
    (13_010, &["cuLaunchHostFunc_v2", "cuMulticastBindAddr_v2", "cuMulticastBindMem_v2"]),
];

/// The latest form of a function that a version of CUDA has. The flag asks for the form with per-thread default streams, if there is one.
fn find(symbol: &str, version: c_int, flags: u64) -> Option<*const c_void> {
    let is_there = |name: &str| SINCE.iter().all(|(since, names)| *since <= version || !names.contains(&name));
    let forms = (2..=4).rev().map(|form| format!("{symbol}_v{form}")).chain([symbol.to_owned()]);
    let suffixes: &[&str] = if flags == OWN_DEFAULT { &["_ptsz", "_ptds", ""] } else { &[""] };
    forms
        .filter(|name| is_there(name))
        .flat_map(|form| suffixes.iter().map(move |suffix| form.clone() + suffix))
        .find_map(|name| {
            let at = exports::TABLE.binary_search_by_key(&name.as_str(), |(name, _)| name).ok()?;
            Some(exports::TABLE[at].1 as *const c_void)
        })
}

/// The flag for functions whose default stream is the calling thread's (`CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM`).
const OWN_DEFAULT: u64 = 2;

/// The address of a function in the form that a version of CUDA has; null if there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetProcAddress(
    symbol: *const c_char,
    function: *mut *const c_void,
    version: c_int,
    flags: u64,
) -> Code {
    // SAFETY: the caller's promise.
    unsafe { cuGetProcAddress_v2(symbol, function, version, flags, ptr::null_mut()) }
}

/// The same. It also says whether the function was found, 0, or not, 1, if the pointer is not null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetProcAddress_v2(
    symbol: *const c_char,
    function: *mut *const c_void,
    version: c_int,
    flags: u64,
    status: *mut c_int,
) -> Code {
    call("cuGetProcAddress_v2", |_| {
        if symbol.is_null() || flags > OWN_DEFAULT {
            return Err(INVALID_VALUE);
        }
        // SAFETY: not null, and hence a text that a NUL ends.
        let name = unsafe { CStr::from_ptr(symbol) }.to_string_lossy();
        let found = find(&name, version, flags);
        // SAFETY: the caller's promise.
        unsafe { put(function, found.unwrap_or(ptr::null()))? };
        if !status.is_null() {
            // SAFETY: not null, and hence the caller's promise.
            unsafe { put(status, c_int::from(found.is_none()))? };
        }
        found.map(drop).ok_or(NOT_FOUND)
    })
}
