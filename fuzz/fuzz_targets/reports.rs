//! What the tools of devices print.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| snuffer_fuzz::foreign::reports(bytes));
