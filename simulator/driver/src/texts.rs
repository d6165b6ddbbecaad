//! The name and the text of every error code.

use crate::codes::{Code, INVALID_VALUE, SUCCESS};
use std::ffi::{CStr, c_char};
use std::ptr;

/// Every member of `CUresult`, with its name and what it says.
pub const CODES: &[(Code, &CStr, &CStr)] = &[
    (0, c"CUDA_SUCCESS", c"no error"),
    (1, c"CUDA_ERROR_INVALID_VALUE", c"invalid argument"),
    (2, c"CUDA_ERROR_OUT_OF_MEMORY", c"out of memory"),
    (3, c"CUDA_ERROR_NOT_INITIALIZED", c"initialization error"),
    (4, c"CUDA_ERROR_DEINITIALIZED", c"driver shutting down"),
    (5, c"CUDA_ERROR_PROFILER_DISABLED", c"profiler disabled"),
    (6, c"CUDA_ERROR_PROFILER_NOT_INITIALIZED", c"profiler not initialized"),
    (7, c"CUDA_ERROR_PROFILER_ALREADY_STARTED", c"profiler already started"),
    (8, c"CUDA_ERROR_PROFILER_ALREADY_STOPPED", c"profiler already stopped"),
    (34, c"CUDA_ERROR_STUB_LIBRARY", c"stub library in place of the driver"),
    (36, c"CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER", c"the call needs a newer driver"),
    (46, c"CUDA_ERROR_DEVICE_UNAVAILABLE", c"device busy or unavailable"),
    (100, c"CUDA_ERROR_NO_DEVICE", c"no CUDA-capable device is detected"),
    (101, c"CUDA_ERROR_INVALID_DEVICE", c"invalid device ordinal"),
    (102, c"CUDA_ERROR_DEVICE_NOT_LICENSED", c"device lacks a license"),
    (200, c"CUDA_ERROR_INVALID_IMAGE", c"invalid kernel image"),
    (201, c"CUDA_ERROR_INVALID_CONTEXT", c"invalid device context"),
    (202, c"CUDA_ERROR_CONTEXT_ALREADY_CURRENT", c"context already current"),
    (205, c"CUDA_ERROR_MAP_FAILED", c"mapping failed"),
    (206, c"CUDA_ERROR_UNMAP_FAILED", c"unmapping failed"),
    (207, c"CUDA_ERROR_ARRAY_IS_MAPPED", c"array is mapped"),
    (208, c"CUDA_ERROR_ALREADY_MAPPED", c"already mapped"),
    (209, c"CUDA_ERROR_NO_BINARY_FOR_GPU", c"no kernel image is available for this device"),
    (210, c"CUDA_ERROR_ALREADY_ACQUIRED", c"already acquired"),
    (211, c"CUDA_ERROR_NOT_MAPPED", c"not mapped"),
    (212, c"CUDA_ERROR_NOT_MAPPED_AS_ARRAY", c"not mapped as an array"),
    (213, c"CUDA_ERROR_NOT_MAPPED_AS_POINTER", c"not mapped as a pointer"),
    (214, c"CUDA_ERROR_ECC_UNCORRECTABLE", c"uncorrectable ECC error"),
    (215, c"CUDA_ERROR_UNSUPPORTED_LIMIT", c"limit not supported"),
    (216, c"CUDA_ERROR_CONTEXT_ALREADY_IN_USE", c"context already in use by a thread"),
    (217, c"CUDA_ERROR_PEER_ACCESS_UNSUPPORTED", c"no peer access between these devices"),
    (218, c"CUDA_ERROR_INVALID_PTX", c"PTX compilation failed"),
    (219, c"CUDA_ERROR_INVALID_GRAPHICS_CONTEXT", c"invalid graphics context"),
    (220, c"CUDA_ERROR_NVLINK_UNCORRECTABLE", c"uncorrectable NVLink error"),
    (221, c"CUDA_ERROR_JIT_COMPILER_NOT_FOUND", c"PTX compiler not found"),
    (222, c"CUDA_ERROR_UNSUPPORTED_PTX_VERSION", c"PTX of an unsupported toolchain"),
    (223, c"CUDA_ERROR_JIT_COMPILATION_DISABLED", c"PTX compilation disabled"),
    (224, c"CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY", c"execution affinity not supported"),
    (225, c"CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC", c"unsupported synchronization by the device"),
    (226, c"CUDA_ERROR_CONTAINED", c"contained exception on the device"),
    (300, c"CUDA_ERROR_INVALID_SOURCE", c"invalid device kernel source"),
    (301, c"CUDA_ERROR_FILE_NOT_FOUND", c"file not found"),
    (302, c"CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND", c"shared object symbol not found"),
    (303, c"CUDA_ERROR_SHARED_OBJECT_INIT_FAILED", c"shared object initialization failed"),
    (304, c"CUDA_ERROR_OPERATING_SYSTEM", c"operating system call failed"),
    (400, c"CUDA_ERROR_INVALID_HANDLE", c"invalid resource handle"),
    (401, c"CUDA_ERROR_ILLEGAL_STATE", c"resource in a wrong state"),
    (402, c"CUDA_ERROR_LOSSY_QUERY", c"query would lose information"),
    (500, c"CUDA_ERROR_NOT_FOUND", c"named symbol not found"),
    (600, c"CUDA_ERROR_NOT_READY", c"device not ready"),
    (700, c"CUDA_ERROR_ILLEGAL_ADDRESS", c"an illegal memory access was encountered"),
    (701, c"CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", c"too many resources requested for launch"),
    (702, c"CUDA_ERROR_LAUNCH_TIMEOUT", c"the launch timed out"),
    (703, c"CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING", c"incompatible texturing mode"),
    (704, c"CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", c"peer access already enabled"),
    (705, c"CUDA_ERROR_PEER_ACCESS_NOT_ENABLED", c"peer access not enabled"),
    (708, c"CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE", c"primary context already active"),
    (709, c"CUDA_ERROR_CONTEXT_IS_DESTROYED", c"context is destroyed"),
    (710, c"CUDA_ERROR_ASSERT", c"device-side assert triggered"),
    (711, c"CUDA_ERROR_TOO_MANY_PEERS", c"too many peers"),
    (712, c"CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", c"host memory already registered"),
    (713, c"CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", c"host memory not registered"),
    (714, c"CUDA_ERROR_HARDWARE_STACK_ERROR", c"hardware stack error"),
    (715, c"CUDA_ERROR_ILLEGAL_INSTRUCTION", c"an illegal instruction was encountered"),
    (716, c"CUDA_ERROR_MISALIGNED_ADDRESS", c"misaligned address"),
    (717, c"CUDA_ERROR_INVALID_ADDRESS_SPACE", c"operation on a wrong address space"),
    (718, c"CUDA_ERROR_INVALID_PC", c"invalid program counter"),
    (719, c"CUDA_ERROR_LAUNCH_FAILED", c"unspecified launch failure"),
    (720, c"CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", c"cooperative launch too large"),
    (721, c"CUDA_ERROR_TENSOR_MEMORY_LEAK", c"tensor memory not released"),
    (800, c"CUDA_ERROR_NOT_PERMITTED", c"operation not permitted"),
    (801, c"CUDA_ERROR_NOT_SUPPORTED", c"operation not supported"),
    (802, c"CUDA_ERROR_SYSTEM_NOT_READY", c"system not ready"),
    (803, c"CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", c"driver versions do not match"),
    (804, c"CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", c"forward compatibility not supported on this device"),
    (805, c"CUDA_ERROR_MPS_CONNECTION_FAILED", c"MPS connection failed"),
    (806, c"CUDA_ERROR_MPS_RPC_FAILURE", c"MPS call failed"),
    (807, c"CUDA_ERROR_MPS_SERVER_NOT_READY", c"MPS server not ready"),
    (808, c"CUDA_ERROR_MPS_MAX_CLIENTS_REACHED", c"MPS clients exhausted"),
    (809, c"CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED", c"MPS connections exhausted"),
    (810, c"CUDA_ERROR_MPS_CLIENT_TERMINATED", c"MPS client terminated"),
    (811, c"CUDA_ERROR_CDP_NOT_SUPPORTED", c"dynamic parallelism not supported"),
    (812, c"CUDA_ERROR_CDP_VERSION_MISMATCH", c"dynamic parallelism versions mixed"),
    (900, c"CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", c"operation not permitted while capturing"),
    (901, c"CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", c"capture invalidated by an earlier error"),
    (902, c"CUDA_ERROR_STREAM_CAPTURE_MERGE", c"captures would merge"),
    (903, c"CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", c"capture not begun in this stream"),
    (904, c"CUDA_ERROR_STREAM_CAPTURE_UNJOINED", c"capture not joined"),
    (905, c"CUDA_ERROR_STREAM_CAPTURE_ISOLATION", c"dependency crosses the capture"),
    (906, c"CUDA_ERROR_STREAM_CAPTURE_IMPLICIT", c"implicit dependency on a capture"),
    (907, c"CUDA_ERROR_CAPTURED_EVENT", c"event recorded in a capturing stream"),
    (908, c"CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD", c"capture ended by another thread"),
    (909, c"CUDA_ERROR_TIMEOUT", c"wait timed out"),
    (910, c"CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE", c"graph update failed"),
    (911, c"CUDA_ERROR_EXTERNAL_DEVICE", c"error of an external device"),
    (912, c"CUDA_ERROR_INVALID_CLUSTER_SIZE", c"invalid cluster size"),
    (913, c"CUDA_ERROR_FUNCTION_NOT_LOADED", c"function not loaded"),
    (914, c"CUDA_ERROR_INVALID_RESOURCE_TYPE", c"invalid resource type"),
    (915, c"CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION", c"invalid resource configuration"),
    (916, c"CUDA_ERROR_KEY_ROTATION", c"key rotation failed"),
    (999, c"CUDA_ERROR_UNKNOWN", c"unknown error"),
];

/// The name of a code, such as `CUDA_ERROR_OUT_OF_MEMORY`.
pub(crate) fn name(code: Code) -> String {
    find(code).map_or_else(|| code.to_string(), |(_, name, _)| name.to_string_lossy().into_owned())
}

fn find(code: Code) -> Option<&'static (Code, &'static CStr, &'static CStr)> {
    CODES.binary_search_by_key(&code, |row| row.0).ok().map(|at| &CODES[at])
}

/// The text of an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetErrorString(error: Code, text: *mut *const c_char) -> Code {
    // SAFETY: the caller passes a place for the pointer, or null.
    unsafe { answer(text, find(error).map(|row| row.2)) }
}

/// The name of an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetErrorName(error: Code, name: *mut *const c_char) -> Code {
    // SAFETY: the caller passes a place for the pointer, or null.
    unsafe { answer(name, find(error).map(|row| row.1)) }
}

unsafe fn answer(to: *mut *const c_char, found: Option<&'static CStr>) -> Code {
    // SAFETY: `to` is null or valid for a write, as the callers say.
    match unsafe { to.as_mut() } {
        None => INVALID_VALUE,
        Some(to) => {
            *to = found.map_or(ptr::null(), CStr::as_ptr);
            if found.is_some() { SUCCESS } else { INVALID_VALUE }
        }
    }
}

/// The runtime's names of the codes that it returns here.
const RUNTIME: &[(Code, &CStr)] = &[
    (0, c"cudaSuccess"),
    (1, c"cudaErrorInvalidValue"),
    (2, c"cudaErrorMemoryAllocation"),
    (3, c"cudaErrorInitializationError"),
    (9, c"cudaErrorInvalidConfiguration"),
    (52, c"cudaErrorMissingConfiguration"),
    (98, c"cudaErrorInvalidDeviceFunction"),
    (100, c"cudaErrorNoDevice"),
    (101, c"cudaErrorInvalidDevice"),
    (201, c"cudaErrorDeviceUninitialized"),
    (400, c"cudaErrorInvalidResourceHandle"),
    (700, c"cudaErrorIllegalAddress"),
    (702, c"cudaErrorLaunchTimeout"),
    (709, c"cudaErrorContextIsDestroyed"),
    (710, c"cudaErrorAssert"),
    (716, c"cudaErrorMisalignedAddress"),
    (719, c"cudaErrorLaunchFailure"),
    (801, c"cudaErrorNotSupported"),
    (802, c"cudaErrorSystemNotReady"),
];

const UNKNOWN: &CStr = c"unrecognized error code";

/// The runtime's name of an error.
#[unsafe(no_mangle)]
pub extern "C" fn cudaGetErrorName(error: Code) -> *const c_char {
    RUNTIME.iter().find(|row| row.0 == error).map_or(UNKNOWN, |row| row.1).as_ptr()
}

/// The runtime's text of an error.
#[unsafe(no_mangle)]
pub extern "C" fn cudaGetErrorString(error: Code) -> *const c_char {
    let own = match error {
        9 => c"invalid configuration argument",
        52 => c"missing launch configuration",
        98 => c"invalid device function",
        _ => UNKNOWN,
    };
    find(error).map_or(own, |row| row.2).as_ptr()
}

const BLAS: &[(Code, &CStr)] = &[
    (0, c"CUBLAS_STATUS_SUCCESS"),
    (1, c"CUBLAS_STATUS_NOT_INITIALIZED"),
    (3, c"CUBLAS_STATUS_ALLOC_FAILED"),
    (7, c"CUBLAS_STATUS_INVALID_VALUE"),
    (8, c"CUBLAS_STATUS_ARCH_MISMATCH"),
    (11, c"CUBLAS_STATUS_MAPPING_ERROR"),
    (13, c"CUBLAS_STATUS_EXECUTION_FAILED"),
    (14, c"CUBLAS_STATUS_INTERNAL_ERROR"),
    (15, c"CUBLAS_STATUS_NOT_SUPPORTED"),
    (16, c"CUBLAS_STATUS_LICENSE_ERROR"),
];

/// The name of a status of cuBLAS.
#[unsafe(no_mangle)]
pub extern "C" fn cublasGetStatusName(status: Code) -> *const c_char {
    BLAS.iter().find(|row| row.0 == status).map_or(UNKNOWN, |row| row.1).as_ptr()
}

/// The text of a status of cuBLAS: its name says it.
#[unsafe(no_mangle)]
pub extern "C" fn cublasGetStatusString(status: Code) -> *const c_char {
    cublasGetStatusName(status)
}

/// The name of a status of cuBLASLt, which shares its statuses with cuBLAS.
#[unsafe(no_mangle)]
pub extern "C" fn cublasLtGetStatusName(status: Code) -> *const c_char {
    cublasGetStatusName(status)
}

/// The text of a status of cuBLASLt.
#[unsafe(no_mangle)]
pub extern "C" fn cublasLtGetStatusString(status: Code) -> *const c_char {
    cublasGetStatusName(status)
}

/// The name of a result of NVRTC; this library returns one only.
#[unsafe(no_mangle)]
pub extern "C" fn nvrtcGetErrorString(result: Code) -> *const c_char {
    match result {
        0 => c"NVRTC_SUCCESS",
        11 => c"NVRTC_ERROR_INTERNAL_ERROR",
        _ => c"NVRTC_ERROR unknown",
    }
    .as_ptr()
}
