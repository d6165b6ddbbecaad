//! The parser and writer of cases.
#![no_main]

use snuffer::fuzz::Target;

libfuzzer_sys::fuzz_target!(
    init: snuffer_fuzz::draw_seeds(&[Target::Forward, Target::Backward, Target::Program]),
    |bytes: &[u8]| {
        snuffer::fuzz::case_text(bytes);
    }
);
