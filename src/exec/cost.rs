//! What a worker's process has cost so far: processor time and memory. Neither depends on what else the machine does.

use std::fs;
use std::time::Duration;

/// The cost of a process so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cost {
    /// The process: another one begins anew.
    pub process: u32,
    /// The processor time of all its threads.
    pub processor: Duration,
    /// The largest amount of resident memory that it had, in KiB.
    pub peak_kib: u64,
}

impl Cost {
    /// `None` where the system does not say, or if the process is gone.
    pub fn of(process: u32) -> Option<Self> {
        Some(Self { process, processor: processor_time(process)?, peak_kib: peak(process)? })
    }

    /// The cost since `before`; `None` if that is of another process.
    #[must_use]
    pub fn since(self, before: Self) -> Option<Self> {
        (self.process == before.process).then(|| Self {
            process: self.process,
            processor: self.processor.saturating_sub(before.processor),
            peak_kib: self.peak_kib.saturating_sub(before.peak_kib),
        })
    }
}

/// The processor time of all threads (Linux: Documentation/scheduler/sched-stats.rst). What a thread used that has ended is lost, but
/// threads of workers end with them.
fn processor_time(process: u32) -> Option<Duration> {
    let mut sum = Duration::ZERO;
    for thread in fs::read_dir(format!("/proc/{process}/task")).ok()? {
        let stat = fs::read_to_string(thread.ok()?.path().join("schedstat")).ok()?;
        sum += Duration::from_nanos(stat.split_whitespace().next()?.parse().ok()?);
    }
    Some(sum)
}

/// The peak of the resident memory (`proc_pid_status(5)`, `VmHWM`).
fn peak(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}
