//! A safetensors file before the guard.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| snuffer_fuzz::foreign::safetensors(bytes));
