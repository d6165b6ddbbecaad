//! The deadline of a case: time of its worker's own, so that a busy machine does not turn a slow case into a hang.

use std::io::{self, ErrorKind, Read};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use crate::device::Device;

/// A worker that waits for something uses no processor time. It gets this many times the deadline by the clock.
const BY_THE_CLOCK: u32 = 4;

/// Time that passes while a process works.
#[derive(Debug)]
pub struct Timer {
    began: Instant,
    deadline: Duration,
    clock: Clock,
}

/// What counts as time.
#[derive(Debug)]
enum Clock {
    /// The time of day, where the system does not tell the time of a process.
    Wall,
    /// The processor time of a process, from what it had used before.
    Processor { id: u32, before: Duration },
    /// All time but that in which a process waits for a processor, from what it had waited before.
    Unhindered { id: u32, before: Duration },
}

impl Timer {
    /// Times the worker with this process id. A worker of a GPU may rightly wait for its device and use no processor time, so
    /// all time counts but that in which it waits for a processor; for others their processor time does.
    pub fn of(device: Device, id: u32, deadline: Duration) -> Self {
        let clock = if device.is_gpu() {
            queued_time(id).map(|before| Clock::Unhindered { id, before })
        } else {
            processor_time(id).map(|before| Clock::Processor { id, before })
        };
        Self { began: Instant::now(), deadline, clock: clock.unwrap_or(Clock::Wall) }
    }

    /// The time that is left at least.
    fn left(&self) -> Duration {
        let clock = self.began.elapsed();
        let left = self.deadline.saturating_sub(clock);
        match self.clock {
            Clock::Processor { id, before } if left.is_zero() => {
                let used = processor_time(id).map_or(clock, |now| now.saturating_sub(before));
                let by_the_clock = (self.deadline * BY_THE_CLOCK).saturating_sub(clock);
                self.deadline.saturating_sub(used).min(by_the_clock)
            }
            Clock::Unhindered { id, before } if left.is_zero() => {
                // A process that is gone has waited for the last time.
                let queued = queued_time(id).map_or(Duration::ZERO, |now| now.saturating_sub(before));
                self.deadline.saturating_sub(clock.saturating_sub(queued))
            }
            _ => left,
        }
    }
}

/// For how long the first thread of a process, which runs the cases, was ready and had no processor (Linux:
/// Documentation/scheduler/sched-stats.rst, `/proc/<pid>/schedstat`).
fn queued_time(id: u32) -> Option<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{id}/schedstat")).ok()?;
    stat.split_whitespace().nth(1)?.parse().ok().map(Duration::from_nanos)
}

/// The processor time of all threads of a process so far (`proc_pid_stat(5)`, fields 14 and 15).
fn processor_time(id: u32) -> Option<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The second field is the name, in parentheses. It may contain anything.
    let (_, fields) = stat.rsplit_once(") ")?;
    let ticks = |field: Option<&str>| field?.parse::<u64>().ok();
    let mut fields = fields.split(' ').skip(11);
    let ticks = ticks(fields.next())? + ticks(fields.next())?;
    Some(Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64))
}

/// A socket whose reads share one timer: a worker that sends a byte at a time gains no time.
#[derive(Debug)]
pub struct Timed<'a> {
    /// The socket.
    pub socket: &'a mut UnixStream,
    /// The time of all reads together.
    pub timer: Timer,
}

impl Read for Timed<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let left = self.timer.left();
            self.socket.set_read_timeout(Some(left.max(Duration::from_millis(1))))?;
            let read = self.socket.read(buffer);
            let is_late = |error: &io::Error| matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut);
            if !read.as_ref().is_err_and(is_late) || self.timer.left().is_zero() {
                return read;
            }
        }
    }
}
