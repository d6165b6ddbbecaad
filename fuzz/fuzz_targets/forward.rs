//! Single calls, forward only.
#![no_main]

use snuffer::fuzz::Target;

snuffer_fuzz::case_target!(Target::Forward, "forward");
