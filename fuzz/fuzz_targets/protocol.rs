//! What workers and their parents tell each other.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    snuffer::fuzz::protocol(bytes);
});
