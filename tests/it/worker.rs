//! Workers die in every possible way: each death is charged to its case and affects no other.

use std::io::Read;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::time::{Duration, Instant};

use snuffer::device::Device;
use snuffer::exec::deadline::{Timed, Timer};
use snuffer::exec::{Build, Limits, Worker};
use snuffer::hunt::check_canary;
use snuffer::ops::canary::case;
use snuffer::outcome::{Outcome, Phase};

fn worker() -> Worker {
    let limits = Limits { deadline: Duration::from_secs(2), memory_mib: 1024, ..Limits::default() };
    Worker::start(Device::Cpu, Build::Checked, limits).expect("a worker starts")
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
        ("kill", "died"),
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
    assert!(panic.place.starts_with("src/ops/canary.rs:"), "{}", panic.place);
}

#[test]
fn only_the_nondeterministic_fault_differs_between_runs() {
    let mut worker = worker();
    assert!(worker.run(&case("nondeterministic")).expect("runs").again.is_some());
    assert!(worker.run(&case("none")).expect("runs").again.is_none());
}

#[test]
fn a_process_that_gets_no_processor_time_has_four_times_its_deadline() {
    let deadline = Duration::from_millis(100);
    let mut sleeper = Command::new("sleep").arg("60").spawn().expect("sleep starts");
    // A worker of a GPU may be waiting for its device.
    for (device, least) in [(Device::Cuda(0), 1), (Device::Cpu, 4)] {
        let (mut ours, _theirs) = UnixStream::pair().expect("a socket");
        let began = Instant::now();
        let timer = Timer::of(device, sleeper.id(), deadline);
        Timed { socket: &mut ours, timer }.read(&mut [0]).expect_err("nobody writes");
        assert!(began.elapsed() >= deadline * least, "{:?} of {least} deadlines", began.elapsed());
    }
    sleeper.kill().expect("SIGKILL");
    sleeper.wait().expect("dead");
}

#[test]
fn the_canary_misses_nothing() {
    let checked = check_canary(&[Device::Cpu]).expect("the harness survives");
    assert_eq!(checked.missed, Vec::<String>::new());
    assert_eq!(checked.faults, 8);
}
