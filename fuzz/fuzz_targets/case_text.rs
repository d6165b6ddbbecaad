//! The parser and writer of cases.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    snuffer::fuzz::case_text(bytes);
});
