//! Tells the program that started the process how much processor time is not the process's own but its devices': what kernels
//! and matrix products took, in the file that `SNUFFER_SIM_TIME` names.
//!
//! The file has two little-endian numbers of 8 bytes, in nanoseconds of the process's processor time: what the work that ended
//! took, and when the work began that goes on, or 0.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::time::{ClockId, clock_gettime};

use crate::objects::reports::report;

/// Does a device's work, and counts its time.
pub fn during<T>(work: impl FnOnce() -> T) -> T {
    static FILE: OnceLock<Option<File>> = OnceLock::new();
    static SPENT: AtomicU64 = AtomicU64::new(0);
    let Some(file) = FILE.get_or_init(create) else { return work() };
    let began = now();
    write(file, SPENT.load(Ordering::Relaxed), began);
    let done = work();
    let took = now() - began;
    write(file, SPENT.fetch_add(took, Ordering::Relaxed) + took, 0);
    done
}

fn create() -> Option<File> {
    let path = std::env::var_os("SNUFFER_SIM_TIME")?;
    let said = |error| report::print(&format!("snuffer-sim: cannot write {}: {error}", path.display()));
    File::create(&path).map_err(said).ok()
}

/// Both numbers with one write, so that a reader never sees one of them alone.
fn write(file: &File, spent: u64, began: u64) {
    let bytes = [spent.to_le_bytes(), began.to_le_bytes()].concat();
    if let Err(error) = file.write_all_at(&bytes, 0) {
        report::print(&format!("snuffer-sim: cannot write the device's working time: {error}"));
    }
}

/// The processor time of this process so far, in nanoseconds.
fn now() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
