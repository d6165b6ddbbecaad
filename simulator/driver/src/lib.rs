//! The C interfaces of CUDA's driver, runtime, cuBLAS, cuDNN, cuRAND and NVRTC, on simulated devices.
//!
//! The functions that candle calls are here; every other symbol that its bindings name reports itself as unsupported. Each
//! function keeps the contract of the CUDA function of its name, safety included. A panic in one of them ends the process,
//! as `extern "C"` defines; a driver that lost its state cannot go on.

// The C interface is `unsafe`; each block says why it is sound.
#![allow(clippy::result_large_err, reason = "a fault is the end of a context, and rare")]
#![allow(unsafe_code, non_snake_case, clippy::missing_safety_doc, clippy::too_many_arguments)]

/// An exported function that reports, once, that it is not simulated, and returns its library's code for that.
macro_rules! unsupported {
    ($name:ident, $code:literal) => {
        #[unsafe(no_mangle)]
        extern "C" fn $name() -> usize {
            static SAID: std::sync::Once = std::sync::Once::new();
            SAID.call_once(|| crate::objects::reports::report::missing(stringify!($name)));
            $code
        }
    };
}

/// An exported function of NVRTC: NVIDIA's, if the program has loaded it, else as above.
macro_rules! nvrtc {
    ($name:ident, $code:literal) => {
        #[unsafe(no_mangle)]
        extern "C" fn $name(a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> usize {
            const NAME: &std::ffi::CStr = {
                match std::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                    Ok(name) => name,
                    Err(_) => panic!("a name has no NUL"),
                }
            };
            static SAID: std::sync::Once = std::sync::Once::new();
            if let Some(function) = crate::api::nvrtc::of_nvidia(NAME) {
                return function(a, b, c, d, e, f);
            }
            SAID.call_once(|| crate::objects::reports::report::missing(stringify!($name)));
            $code
        }
    };
}

/// An exported function of the driver for programs that are compiled for per-thread default streams. It calls the shared form; stream 0
/// is then the calling thread's. None has more arguments than `cuLaunchKernel`, and all are integers and pointers.
macro_rules! own_default {
    ($name:ident, $shared:ident) => {
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(a: W, b: W, c: W, d: W, e: W, f: W, g: W, h: W, i: W, j: W, k: W) -> u32 {
            unsafe extern "C" {
                fn $shared(a: W, b: W, c: W, d: W, e: W, f: W, g: W, h: W, i: W, j: W, k: W) -> u32;
            }
            // SAFETY: the caller's promise. The function reads as many arguments as it has.
            crate::objects::streams::per_thread::as_default(|| unsafe { $shared(a, b, c, d, e, f, g, h, i, j, k) })
        }
    };
}

pub mod api;
pub mod objects;

#[allow(clashing_extern_declarations, reason = "functions by their names alone")]
mod unsupported {
    /// An argument of any function.
    type W = usize;

    include!(concat!(env!("OUT_DIR"), "/unsupported.rs"));
}
