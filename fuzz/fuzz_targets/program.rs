//! Sequences of calls.
#![no_main]

use snuffer::fuzz::Target;

snuffer_fuzz::case_target!(Target::Program, "program");
