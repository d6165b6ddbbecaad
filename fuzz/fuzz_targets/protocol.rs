//! The messages between workers and their parent.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    snuffer::fuzz::protocol(bytes);
});
