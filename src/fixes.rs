//! Fixes of root causes: written from an edited copy of candle's crates, and proven by what passes and fails with them.

mod proof;
mod record;
mod seen;
mod sets;
mod since;
mod subject;

pub use proof::{broken_together, proof};
pub use record::{edits, record};
pub use seen::{Failing, Kept, Seen, observe};
pub use sets::sets;
pub use since::{TriedRelease, since};
pub use subject::Subject;
