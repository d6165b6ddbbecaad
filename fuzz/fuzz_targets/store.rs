//! The files of a store.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| snuffer_fuzz::foreign::store(bytes));
