//! The fence around the allocations of a case on the CPU: it reports each access beside a buffer, and nothing else.

use snuffer::case::Case;
use snuffer::device::Device;
use snuffer::exec::fence::Side;
use snuffer::exec::{Answer, Worker, WorkerSpec};
use snuffer::generate::{Mode, sample};
use snuffer::ops::{self, canary};
use snuffer::oracle::{Evidence, OracleName, judge};
use snuffer::outcome::{Death, DeviceReport, Outcome, Phase};

use crate::kept::regressions;

fn worker() -> Worker {
    Worker::start(Device::Cpu, &WorkerSpec::default()).expect("a worker starts")
}

/// The only report about a case that returns, or `None`.
fn report(worker: &mut Worker, case: &Case, side: Side) -> Option<DeviceReport> {
    let Answer { outcome, again, device_reports, .. } = worker.run_fenced(case, side).expect("the harness survives");
    assert!(matches!(outcome, Outcome::Returned(_)), "{outcome:?}");
    assert_eq!(again, None);
    let mut reports = device_reports.reports.into_iter();
    let first = reports.next();
    assert_eq!(reports.next(), None);
    first
}

#[test]
fn an_access_beside_a_buffer_is_reported_with_its_kind_and_place() {
    let mut worker = worker();
    for (fault, side, kind, message) in [
        (
            "read after the end",
            Side::End,
            "out of bounds",
            "Invalid read 0 bytes after the nearest allocation of size 8",
        ),
        (
            "write after the end",
            Side::End,
            "out of bounds",
            "Invalid write 0 bytes after the nearest allocation of size 8",
        ),
        (
            "read before the start",
            Side::Start,
            "out of bounds",
            "Invalid read 4 bytes before the nearest allocation of size 8",
        ),
        (
            "write before the start",
            Side::Start,
            "out of bounds",
            "Invalid write 4 bytes before the nearest allocation of size 8",
        ),
        (
            "read after free",
            Side::End,
            "use after free",
            "Invalid read at offset 0 of an allocation of size 8 bytes that was freed",
        ),
        (
            "write after free",
            Side::Start,
            "use after free",
            "Invalid write at offset 0 of an allocation of size 8 bytes that was freed",
        ),
    ] {
        let DeviceReport { kind: seen, place, message: text } =
            report(&mut worker, &canary::case(fault), side).unwrap_or_else(|| panic!("{fault} is not reported"));
        assert_eq!(seen.name(), kind, "{fault}");
        assert!(text.starts_with(message), "{fault}: {text}");
        let (file, line) = place.file_and_line().unwrap_or_else(|| panic!("{fault}: {place}"));
        assert!(file.ends_with("src/ops/canary/beside.rs") && line > 0, "{fault}: {place}");
        assert_eq!(report(&mut worker, &canary::case("none"), side), None, "{fault} is charged to the case after it");
    }
}

#[test]
fn an_access_on_the_other_side_is_left_to_the_other_side() {
    let mut worker = worker();
    for (fault, side) in [("read after the end", Side::Start), ("read before the start", Side::End)] {
        assert_eq!(report(&mut worker, &canary::case(fault), side), None, "{fault}");
    }
}

#[test]
fn a_signal_without_a_fence_is_a_death_as_before() {
    let mut worker = worker();
    for fault in ["read near the null pointer", "write near the null pointer"] {
        let Answer { outcome, device_reports, .. } = worker.run(&canary::case(fault)).expect("the harness survives");
        let Outcome::Died(Death { phase: Phase::Forward, signal: 11, .. }) = outcome else { panic!("{outcome:?}") };
        assert!(device_reports.is_empty(), "{device_reports:?}");
    }
}

#[test]
fn candle_reads_behind_a_kernel_that_is_a_view() {
    let regressions = regressions();
    for name in [
        "tensor.conv1d/f32-broadcast-kernel-read-out-of-bounds",
        "tensor.conv1d/f64-broadcast-kernel-read-out-of-bounds",
    ] {
        let (_, kept) = regressions.iter().find(|(known, _)| known == name).expect("a kept regression");
        let case = &kept.case;
        let seen = [worker().run(case).expect("the harness survives").on(Device::Cpu)];
        let verdict = judge(&Evidence::new(ops::find(&case.op).expect("an op"), case, &seen));
        let main = &verdict.violations()[0];
        assert_eq!((main.oracle, main.kind.name()), (OracleName::Checker, "out of bounds"), "{name}");
        assert_eq!(main.site.to_string(), "MatMul::f (candle-core/src/cpu_backend/mod.rs)", "{name}");
    }
}

#[test]
fn valid_calls_of_every_op_are_fenced_without_a_report() {
    // Both read behind a kernel that is a view.
    const KNOWN: [&str; 2] = ["tensor.conv1d", "layer.conv1d"];
    let mut worker = worker();
    let mut reported = Vec::new();
    for op in ops::ALL.iter().filter(|op| !KNOWN.contains(&op.name)) {
        for seed in 0..3 {
            let case = sample(op.name, op.generate, Mode::Valid, seed, 0).case;
            for side in [Side::End, Side::Start] {
                let answer = worker.run_fenced(&case, side).expect("the harness survives");
                reported
                    .extend(answer.device_reports.reports.into_iter().map(|it| format!("{}: {}", op.name, it.message)));
            }
        }
    }
    assert!(reported.is_empty(), "{}", reported.join("\n"));
}
