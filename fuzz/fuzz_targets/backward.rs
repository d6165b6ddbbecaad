//! Single calls with gradients.
#![no_main]

use snuffer::fuzz::Target;

snuffer_fuzz::case_target!(Target::Backward, "backward");
