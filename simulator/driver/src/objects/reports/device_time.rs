//! Tells the program that started the process how much processor time is not the process's own but its devices': what kernels
//! and matrix products took, in the file that `SNUFFER_SIM_TIME` names.
//!
//! The file has one number of 8 bytes in the order of the machine, twice some nanoseconds of the process's processor time: those that
//! devices have taken, or, while one works, those that the rest has taken, and then the number is odd. A single number is never seen
//! half written, and the file is mapped, because two system calls would take longer than many a kernel.

use std::fs::File;
use std::io;
use std::path::Path;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::mm::{MapFlags, ProtFlags, mmap};
use rustix::time::{ClockId, clock_gettime};

use crate::objects::reports::report;

/// Does a device's work, and counts its time.
pub fn during<T>(work: impl FnOnce() -> T) -> T {
    static NUMBER: OnceLock<Option<&'static AtomicU64>> = OnceLock::new();
    let Some(number) = *NUMBER.get_or_init(of_environment) else { return work() };
    let rest = now() - number.load(Ordering::Relaxed) / 2;
    number.store(2 * rest + 1, Ordering::Relaxed);
    let done = work();
    number.store(2 * (now() - rest), Ordering::Relaxed);
    done
}

fn of_environment() -> Option<&'static AtomicU64> {
    let path = std::env::var_os("SNUFFER_SIM_TIME")?;
    let said = |error| report::print(&format!("snuffer-sim: cannot write {}: {error}", path.display()));
    map(path.as_ref()).map_err(said).ok()
}

/// The number in a new file at `path`.
fn map(path: &Path) -> io::Result<&'static AtomicU64> {
    let file = File::options().read(true).write(true).create(true).truncate(true).open(path)?;
    file.set_len(8)?;
    // SAFETY: the mapping is new, never ends, is aligned to a page and has 8 bytes. The file is private, and nobody shortens it.
    let number = unsafe { mmap(ptr::null_mut(), 8, ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED, &file, 0)? };
    // SAFETY: as above.
    Ok(unsafe { AtomicU64::from_ptr(number.cast()) })
}

/// The processor time of this process so far, in nanoseconds.
fn now() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
