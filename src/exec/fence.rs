//! A fence around each allocation of a case on the CPU: pages that nobody may access. candle hands raw pointers to loops and to `gemm`,
//! and an index that is wrong there reads or writes what lies beside the buffer, without an error. With the fence it ends the process,
//! which first records where, as a simulated device does.

mod allocator;
mod calls;
mod handler;
mod region;

use std::fs::OpenOptions;
use std::path::Path;

use anyhow::Context;

pub use allocator::Fencing;
pub use calls::Unlocated;
pub use region::{ADDRESSES, Side};

/// Gets ready to fence allocations, and to append what happens at the fence to the file `records`.
pub fn prepare(records: &Path) -> anyhow::Result<()> {
    let records = OpenOptions::new().append(true).open(records).context("cannot open the file of records")?;
    region::reserve().context("cannot reserve addresses")?;
    handler::install(records).context("cannot handle signals")
}

/// Does `work` with its allocations fenced on one side. The program's allocator must be [`Fencing`]. Memory that outlives the work
/// stays where it is.
pub fn around<T>(side: Side, work: impl FnOnce() -> T) -> T {
    allocator::switch(Some(side));
    let done = work();
    allocator::switch(None);
    done
}
