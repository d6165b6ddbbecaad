//! Verdicts on a GPU do not depend on how busy the machine is.

use std::io::Read;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use snuffer::device::Device;
use snuffer::exec::Limits;
use snuffer::exec::deadline::{Timed, Timer};
use snuffer::outcome::{Outcome, Phase};

use super::{GPU, outcome, worker};

/// Processes that keep the processors busy until they are dropped.
struct Busy(Vec<Child>);

impl Busy {
    /// `count` of them, on all processors or only on one.
    fn new(count: usize, processor: Option<&str>) -> Self {
        let spin = "while :; do :; done";
        let start = |_| match processor {
            Some(one) => Command::new("taskset").args(["-c", one, "sh", "-c", spin]).spawn(),
            None => Command::new("sh").args(["-c", spin]).spawn(),
        };
        Self((0..count).map(start).collect::<Result<_, _>>().expect("it starts"))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

pub fn a_case_that_allocates_without_end_is_noticed_on_a_busy_machine(_: Device) {
    let limits = Limits { deadline: Duration::from_secs(2), memory_mib: 1024, ..Limits::default() };
    let mut worker = worker(&[], limits);
    let _busy = Busy::new(8, None);
    for _ in 0..5 {
        assert_eq!(outcome(&mut worker, "allocate without end"), Outcome::OutOfMemory(Phase::Forward));
        assert_eq!(outcome(&mut worker, "none").name(), "returned");
    }
}

pub fn time_in_which_a_process_waits_for_a_processor_does_not_count_for_a_gpu() {
    let deadline = Duration::from_millis(200);
    // Four share a processor: each runs for a quarter of the time.
    let busy = Busy::new(4, Some("0"));
    std::thread::sleep(Duration::from_millis(100));
    let (mut ours, _theirs) = UnixStream::pair().expect("a socket");
    let began = Instant::now();
    let timer = Timer::of(GPU, busy.0[0].id(), PathBuf::new(), deadline);
    Timed { socket: &mut ours, timer }.read(&mut [0]).expect_err("nobody writes");
    assert!(began.elapsed() >= deadline * 2, "{:?}", began.elapsed());
}
