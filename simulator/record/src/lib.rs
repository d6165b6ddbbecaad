//! What a CUDA device reports about a program, as values: the simulated device makes them, its driver writes them down, and `snuffer`
//! and `cargo snuffer` read them. [`Fault`] alone turns them into text.

mod detail;
mod fault;
mod kind;
mod place;
mod record;

pub use detail::{Assertion, Detail, How, Missing, Near, Note, Space, Whom};
pub use fault::Fault;
pub use kind::{Kind, UnknownKind};
pub use place::{Location, Moment, Place, Source, Thread};
pub use record::{Frame, Record, Severity};

/// How the first line of a report begins, as `compute-sanitizer` prints it.
pub const TITLE: &str = "========= ";

/// How the other lines of a report begin.
pub const DETAIL: &str = "=========     ";
