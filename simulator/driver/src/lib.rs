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

pub mod api;
pub mod objects;

mod unsupported {
    include!(concat!(env!("OUT_DIR"), "/unsupported.rs"));
}
