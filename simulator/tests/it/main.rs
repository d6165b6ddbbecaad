//! Conformance of the simulated device: every form against an oracle that shares nothing with it, warps, faults, the
//! front end and mutations.

#![allow(clippy::result_large_err, reason = "a fault is the end of a launch, and rare")]

mod atomics;
mod cooperative;
mod effort;
mod faults;
mod forms;
mod front_end;
mod fusing;
mod gathers;
mod hardware;
mod isa_tables;
mod lifetime;
mod machine;
mod matrices;
mod memory;
mod mutation;
mod not_finite;
mod oracle;
mod ordering;
mod passes;
mod pretended;
mod print;
mod registers;
mod types;
