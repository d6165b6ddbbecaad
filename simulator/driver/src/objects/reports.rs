//! What the driver tells of a program: reports, launches, coverage and time.

pub mod counters;
pub mod coverage;
pub mod device_time;
pub mod host_calls;
pub mod report;
pub mod trace;
