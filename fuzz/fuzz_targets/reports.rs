//! Reads the output of device tools.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| snuffer_fuzz::foreign::reports(bytes));
