//! The deadline of a case: time that candle's own code takes, so that neither a busy machine nor a slow device makes a hang of a
//! slow case.

use std::error::Error;
use std::io::{self, ErrorKind, Read};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::case::Case;
use crate::device::Device;
use crate::ops;

/// A worker that waits for something uses no processor time. It may wait for this many times the deadline.
const WAITING: u32 = 4;

/// Kernels of a simulated device end by themselves, after their budget of instructions at the latest. What takes longer than this
/// in one case is stuck.
const KERNELS: Duration = Duration::from_secs(600);

/// How often a worker is looked at while it has time left.
const LOOK: Duration = Duration::from_secs(1);

/// How long a worker may take before its use of the processor is read. Reading it costs more than an ordinary case.
const PROMPT: Duration = Duration::from_millis(20);

/// A clock that stands still while this process does not run: it was stopped, or the whole machine or container was.
#[derive(Debug)]
pub struct Clock {
    counted: Duration,
    last_look: Instant,
}

impl Clock {
    /// Begins now.
    pub fn new(now: Instant) -> Self {
        Self { counted: Duration::ZERO, last_look: now }
    }

    /// The time so far. It is looked at every second, so more than two seconds between two looks do not count.
    pub fn look(&mut self, now: Instant) -> Duration {
        self.counted += now.saturating_duration_since(self.last_look).min(2 * LOOK);
        self.last_look = now;
        self.counted
    }
}

/// How many times the deadline of a small case this case has: the more elements a call reads and writes, the longer it may
/// take.
pub fn growth(case: &Case) -> u32 {
    let elements = ops::find(&case.op).map_or(0, |op| op.contract(case).elements(case));
    u32::try_from(elements / ops::SMALL).unwrap_or(u32::MAX).saturating_add(1)
}

/// What a process has used so far.
#[derive(Debug, Clone, Copy)]
struct Used {
    /// Processor time of all its threads.
    processor: Duration,
    /// For how long a thread was ready and had no processor: of all threads the one that had to wait most, which runs the cases.
    queued: Duration,
    /// The part of the processor time that its simulated devices took.
    kernels: Duration,
}

impl Used {
    /// `None` where the system does not say, or if the process is gone.
    fn by(process: u32, device_time: &Path) -> Option<Self> {
        let processor = processor_time(process)?;
        let kernels = kernel_time(device_time, processor);
        Some(Self { processor, queued: queued_time(process)?, kernels })
    }
}

/// Times a process while it works.
#[derive(Debug)]
pub struct Timer {
    device: Device,
    process: u32,
    /// The file in which a simulated device says how long it worked; there is none for other devices.
    device_time: PathBuf,
    deadline: Duration,
    began: Instant,
    counting: Option<Counting>,
}

/// The count towards a deadline. It starts once a worker has taken longer than [`PROMPT`].
#[derive(Debug)]
struct Counting {
    clock: Clock,
    before: Option<Used>,
}

/// A simulated device does not end its work. That is the simulator's mistake, not candle's.
#[derive(Debug, thiserror::Error)]
#[error("the simulated device does not end its work")]
pub struct Stuck;

/// A worker is late by the clock alone: it waits for something, or it was stopped from outside.
#[derive(Debug, thiserror::Error)]
#[error("the worker waits")]
pub struct Waits;

/// The time of a case so far.
struct Counted {
    /// What counts towards its deadline.
    time: Duration,
    /// Whether the clock decides that, and not the processor time.
    waits: bool,
    kernels: Duration,
}

impl Timer {
    /// Times the worker with this process id. What counts is, if the system says it,
    ///
    /// - on `cpu` the processor time of the worker;
    /// - on a simulated device the processor time without that of kernels and matrix products, which is in the file
    ///   `device_time`;
    /// - on a GPU, for which a worker may have to wait, all time but that in which the worker waits for a processor.
    pub fn of(device: Device, process: u32, device_time: PathBuf, deadline: Duration) -> Self {
        Self { device, process, device_time, deadline, began: Instant::now(), counting: None }
    }

    fn used(&self) -> Option<Used> {
        Used::by(self.process, &self.device_time)
    }

    /// The part of `clock` that counts. `before` is what the process had used when the clock started.
    fn counted(&self, clock: Duration, before: Option<Used>) -> Counted {
        let (Some(before), Some(now)) = (before, self.used()) else {
            return Counted { time: clock, waits: true, kernels: Duration::ZERO };
        };
        let unhindered = clock.saturating_sub(now.queued.saturating_sub(before.queued));
        let processor = now.processor.saturating_sub(before.processor);
        if self.device.is_gpu() {
            // A driver that waits for a kernel asks again and again, most of the time.
            return Counted { time: unhindered, waits: processor < unhindered / 2, kernels: Duration::ZERO };
        }
        let kernels = now.kernels.saturating_sub(before.kernels);
        let worked = processor.saturating_sub(kernels);
        let waited = unhindered.saturating_sub(kernels) / WAITING;
        Counted { time: worked.max(waited), waits: worked < waited, kernels }
    }

    /// The time that is left at least.
    fn left(&mut self) -> io::Result<Duration> {
        let now = Instant::now();
        let Some(counting) = &mut self.counting else {
            let left = PROMPT.saturating_sub(now.saturating_duration_since(self.began));
            if left.is_zero() {
                self.counting = Some(Counting { clock: Clock::new(now), before: self.used() });
                return Ok(self.deadline);
            }
            return Ok(left);
        };
        let (clock, before) = (counting.clock.look(now), counting.before);
        let left = self.deadline.saturating_sub(clock);
        if !left.is_zero() {
            return Ok(left);
        }
        let Counted { time, waits, kernels } = self.counted(clock, before);
        let late = |why: Box<dyn Error + Send + Sync>| Err(io::Error::new(ErrorKind::TimedOut, why));
        match self.deadline.saturating_sub(time) {
            _ if kernels > KERNELS => late(Stuck.into()),
            Duration::ZERO if waits => late(Waits.into()),
            left => Ok(left),
        }
    }
}

/// How long a thread of a process waited for a processor so far, at most (Linux: Documentation/scheduler/sched-stats.rst,
/// `/proc/<pid>/schedstat`).
fn queued_time(process: u32) -> Option<Duration> {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).ok()?;
    let queued = |thread: &Path| {
        let stat = std::fs::read_to_string(thread.join("schedstat")).ok()?;
        stat.split_whitespace().nth(1)?.parse().ok().map(Duration::from_nanos)
    };
    threads.filter_map(|thread| queued(&thread.ok()?.path())).max()
}

/// The processor time of all threads of a process so far (`proc_pid_stat(5)`, fields 14 and 15).
fn processor_time(process: u32) -> Option<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The second field is the name, in parentheses. It may contain anything.
    let (_, fields) = stat.rsplit_once(") ")?;
    let ticks = |field: Option<&str>| field?.parse::<u64>().ok();
    let mut fields = fields.split(' ').skip(11);
    let ticks = ticks(fields.next())? + ticks(fields.next())?;
    Some(Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64))
}

/// How long simulated devices worked, by what they say in this file (`simulator/driver/src/objects/reports/device_time.rs`), when their
/// process has used this much processor time. Zero without a file.
fn kernel_time(file: &Path, processor: Duration) -> Duration {
    let Ok(Ok(number)) = std::fs::read(file).map(<[u8; 8]>::try_from) else { return Duration::ZERO };
    let number = u64::from_ne_bytes(number);
    let time = Duration::from_nanos(number / 2);
    if number.is_multiple_of(2) { time } else { processor.saturating_sub(time) }
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
            let left = self.timer.left()?;
            self.socket.set_read_timeout(Some(left.clamp(Duration::from_millis(1), LOOK)))?;
            let read = self.socket.read(buffer);
            let is_late = |error: &io::Error| matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut);
            if !read.as_ref().is_err_and(is_late) || self.timer.left()?.is_zero() {
                return read;
            }
        }
    }
}
