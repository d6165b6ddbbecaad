//! Golden vectors: what hardware computes for each PTX form and for cases of each kernel, recorded once, and what the simulated
//! device must compute too.

mod check;
mod choose;
mod file;
mod forms;
mod record;
mod results;

pub use check::{Checked, Failure, check};
pub use choose::Chosen;
pub use file::{Head, Recording, Vector, files};
pub use forms::{FormSpec, all as forms};
pub use record::{Recorded, record};
