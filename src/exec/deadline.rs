//! The deadline of a case: processor time of its worker, so that a busy machine does not turn a slow case into a hang.

use std::io::{self, ErrorKind, Read};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// A worker that waits for something uses no processor time. It gets this many times the deadline by the clock.
const BY_THE_CLOCK: u32 = 4;

/// Time that passes while a process works.
#[derive(Debug)]
pub struct Timer {
    began: Instant,
    deadline: Duration,
    /// The process and its processor time at the beginning. `None` to count by the clock alone.
    process: Option<(u32, Duration)>,
}

impl Timer {
    /// Counts by the clock.
    pub fn by_the_clock(deadline: Duration) -> Self {
        Self { began: Instant::now(), deadline, process: None }
    }

    /// Counts the processor time of the process `id`, where the system tells it.
    pub fn of_process(id: u32, deadline: Duration) -> Self {
        Self { process: processor_time(id).map(|time| (id, time)), ..Self::by_the_clock(deadline) }
    }

    /// The time that is left at least.
    fn left(&self) -> Duration {
        let clock = self.began.elapsed();
        let left = self.deadline.saturating_sub(clock);
        match self.process {
            Some((id, before)) if left.is_zero() => {
                let used = processor_time(id).map_or(clock, |now| now.saturating_sub(before));
                let by_the_clock = (self.deadline * BY_THE_CLOCK).saturating_sub(clock);
                self.deadline.saturating_sub(used).min(by_the_clock)
            }
            _ => left,
        }
    }
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
