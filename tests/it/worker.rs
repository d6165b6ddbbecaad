//! Workers die in every possible way: each death is charged to its case and affects no other.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use snuffer::case::Case;
use snuffer::device::Device;
use snuffer::exec::deadline::{Clock, Timed, Timer, growth};
use snuffer::exec::{Limits, Worker};
use snuffer::hunt::check_canary;
use snuffer::ops::canary::case;
use snuffer::outcome::{Outcome, Phase};
use snuffer::tensor::{DType, Tensor, Value};

fn worker() -> Worker {
    let limits = Limits { deadline: Duration::from_secs(2), memory_mib: 1024, ..Limits::default() };
    Worker::start(Device::Cpu, &limits.into()).expect("a worker starts")
}

fn outcome(worker: &mut Worker, fault: &str) -> Outcome {
    worker.run(&case(fault)).expect("the harness survives").outcome
}

#[test]
fn every_fault_has_its_outcome_and_the_next_case_is_unaffected() {
    let mut worker = worker();
    for (fault, name) in [
        ("panic", "panicked"),
        ("abort", "died"),
        ("stack overflow", "stack overflow"),
        ("signal", "died"),
        ("hang", "timed out"),
        ("allocate without end", "out of memory"),
        ("wrong value", "returned"),
    ] {
        assert_eq!(outcome(&mut worker, fault).name(), name, "{fault}");
        assert_eq!(outcome(&mut worker, "none").name(), "returned", "after {fault}");
    }
}

#[test]
fn a_death_has_its_signal_phase_and_message() {
    let Outcome::Died(death) = outcome(&mut worker(), "abort") else { panic!("abort kills") };
    assert_eq!((death.signal, death.phase), (6, Phase::Forward));
    let Outcome::Panicked(panic) = outcome(&mut worker(), "panic") else { panic!("a panic is caught") };
    assert_eq!(panic.message, "the canary panics");
    assert!(panic.place.to_string().starts_with("src/ops/canary.rs:"), "{}", panic.place);
}

#[test]
fn only_the_nondeterministic_fault_differs_between_runs() {
    let mut worker = worker();
    assert!(worker.run(&case("nondeterministic")).expect("runs").again.is_some());
    assert!(worker.run(&case("none")).expect("runs").again.is_none());
}

/// A case that takes longer than a test waits until it has begun.
fn slow() -> Case {
    let values: Vec<Value> = (0..6000).map(|_| Value::Float(0.0)).collect();
    Case::new("tensor.cumsum").param("dim", 0i64).input("x", Tensor::new(DType::F32, vec![6000], values))
}

/// Runs a slow case in a worker that gets `signal` meanwhile.
fn outcome_with(signal: Signal) -> Outcome {
    let limits = Limits { deadline: Duration::from_secs(1), ..Limits::default() };
    let mut worker = Worker::start(Device::Cpu, &limits.into()).expect("a worker starts");
    let process = Pid::from_raw(worker.process() as i32).expect("an id");
    let disturbing = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(50));
        kill_process(process, signal).expect("it runs");
    });
    let outcome = worker.run(&slow()).expect("the harness survives").outcome;
    disturbing.join().expect("no panic");
    outcome
}

#[test]
fn a_worker_that_is_stopped_or_killed_once_runs_its_case_again() {
    for signal in [Signal::STOP, Signal::KILL] {
        assert_eq!(outcome_with(signal).name(), "returned", "{signal:?}");
    }
}

#[test]
fn a_worker_that_is_killed_twice_is_no_failure_of_the_case() {
    let mut worker = worker();
    let problem = worker.run(&case("kill")).expect_err("nobody knows what the case does").to_string();
    assert!(problem.starts_with("the machine killed the worker: "), "{problem}");
    assert_eq!(outcome(&mut worker, "none").name(), "returned");
}

#[test]
fn time_at_which_nothing_runs_does_not_count() {
    let start = Instant::now();
    let mut clock = Clock::new(start);
    assert_eq!(clock.look(start + Duration::from_secs(1)), Duration::from_secs(1));
    // The machine is suspended for a day.
    assert_eq!(clock.look(start + Duration::from_secs(86_400)), Duration::from_secs(3));
    assert_eq!(clock.look(start + Duration::from_secs(86_401)), Duration::from_secs(4));
}

/// What a process does that only computes.
const COMPUTES: &str = "while :; do :; done";

/// A process that is killed when it is dropped.
struct Process(Child);

impl Process {
    fn new(command: &[&str]) -> Self {
        Self(Command::new(command[0]).args(&command[1..]).spawn().expect("it starts"))
    }

    fn timer(&self, device: Device, device_time: &Path, deadline: Duration) -> Timer {
        Timer::of(device, self.0.id(), device_time.to_path_buf(), deadline)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.0.kill().expect("SIGKILL");
        self.0.wait().expect("dead");
    }
}

/// How long it takes until a process that answers nothing is late.
fn late_after(timer: Timer) -> Duration {
    let (mut ours, _theirs) = UnixStream::pair().expect("a socket");
    let began = Instant::now();
    Timed { socket: &mut ours, timer }.read(&mut [0]).expect_err("nobody writes");
    began.elapsed()
}

#[test]
fn a_process_that_gets_no_processor_time_has_four_times_its_deadline() {
    let deadline = Duration::from_millis(100);
    let sleeper = Process::new(&["sleep", "60"]);
    // A worker of a GPU may be waiting for its device.
    for (device, least) in [(Device::Cuda(0), 1), (Device::Cpu, 4), (Device::Sim(0), 4)] {
        let late = late_after(sleeper.timer(device, Path::new("none"), deadline));
        assert!(late >= deadline * least, "{late:?} of {least} deadlines");
    }
}

#[test]
fn a_process_that_must_share_its_processor_has_its_whole_deadline() {
    let deadline = Duration::from_millis(200);
    let sharing: Vec<Process> = (0..8).map(|_| Process::new(&["taskset", "-c", "0", "sh", "-c", COMPUTES])).collect();
    std::thread::sleep(Duration::from_millis(100));
    let late = late_after(sharing[0].timer(Device::Cpu, Path::new("none"), deadline));
    // It runs for an eighth of the time. By the clock it would be late after four deadlines.
    assert!(late > deadline * 5, "{late:?}");
}

#[test]
fn kernels_of_a_simulated_device_take_no_time_from_the_deadline() {
    let deadline = Duration::from_millis(100);
    let folder = tempfile::tempdir().expect("a folder");
    let device_time = folder.path().join("device-time");
    let computing = Process::new(&["sh", "-c", COMPUTES]);
    assert!(late_after(computing.timer(Device::Sim(0), &device_time, deadline)) >= deadline);
    // A kernel that goes on, with a nanosecond for all else.
    std::fs::write(&device_time, 3u64.to_ne_bytes()).expect("written");
    let (mut ours, mut theirs) = UnixStream::pair().expect("a socket");
    let timer = computing.timer(Device::Sim(0), &device_time, deadline);
    let answering = std::thread::spawn(move || {
        std::thread::sleep(deadline * 6);
        theirs.write_all(&[7])
    });
    let mut answer = [0];
    Timed { socket: &mut ours, timer }.read_exact(&mut answer).expect("it is not late");
    assert_eq!(answer, [7]);
    answering.join().expect("no panic").expect("written");
}

#[test]
fn the_deadline_grows_with_what_a_call_reads_and_returns() {
    let ones = |rows: i64| Case::new("create.ones").param("rows", rows).param("columns", 1024i64).param("dtype", "f32");
    assert_eq!(growth(&ones(10)), 1);
    assert_eq!(growth(&ones(1024)), 65);
    assert_eq!(growth(&case("hang")), 1);
}

#[test]
fn the_canary_misses_nothing() {
    let checked = check_canary(&[Device::Cpu], None).expect("the harness survives");
    assert_eq!(checked.missed, Vec::<String>::new());
    assert_eq!(checked.faults, 13);
}
