//! What printed reports and records become: an outcome and device reports.

use device_record::{Assertion, Detail, How, Kind, Location, Note, Record, Severity, Source, Space, Thread};
use snuffer::exec::diagnosis::{Reports, device_reports, explain};
use snuffer::outcome::{CudaError, Fault, Outcome, Phase, Place};

fn explained(said: &str) -> Fault {
    let fault =
        Fault { phase: Phase::Forward, kind: CudaError::LaunchFailed, place: Place::Unknown, message: String::new() };
    match explain(fault, said) {
        Outcome::Faulted(fault) => fault,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_assertion_tells_its_place() {
    let fault = explained(
        "/x/candle-kernels-0.11.1/src/indexing.cu:63: void is<long, float>(): block: [0,0,0], thread: [1,0,0] \
         Assertion `id < n` failed.\n",
    );
    assert_eq!(fault.place.to_string(), "candle-kernels/src/indexing.cu:63");
    assert!(fault.message.starts_with("candle-kernels/src/indexing.cu:63: void is<long, float>()"));
}

#[test]
fn a_report_of_compute_sanitizer_tells_its_place() {
    let fault = explained(
        "========= COMPUTE-SANITIZER\n\
         ========= Invalid __global__ write of size 4 bytes\n\
         =========     at out_of_bounds_kernel()+0x70 in /y/memcheck-1.2/src/demo.cu:39\n\
         =========     by thread (0,0,0) in block (0,0,0)\n\
         =========     Address 0x87654320 is out of bounds\n\
         ========= \n",
    );
    assert_eq!(fault.place.to_string(), "memcheck/src/demo.cu:39");
    assert!(fault.message.starts_with("Invalid __global__ write of size 4 bytes; at out_of_bounds_kernel()"));
    assert!(fault.message.ends_with("Address 0x87654320 is out of bounds"));
}

#[test]
fn what_ends_nothing_is_a_report() {
    let said = "========= Uninitialized value decides a branch\n\
         =========     at k() in /x/candle-kernels-0.11.1/src/sort.cu:12\n\
         ========= Invalid __global__ write of size 4 bytes\n\
         =========     at j() in /x/candle-kernels-0.11.1/src/sort.cu:20\n\
         snuffer-sim: fact: division of an integer by zero at k() in /x/candle-kernels-0.11.1/src/sort.cu:7\n";
    let device_reports = device_reports(said, true);
    let [report] = &device_reports.reports[..] else { panic!("{device_reports:?}") };
    assert_eq!(report.kind, Kind::Uninitialized);
    assert_eq!(report.place.to_string(), "candle-kernels/src/sort.cu:12");
    assert_eq!(device_reports.facts, ["division of an integer by zero at k() in candle-kernels/src/sort.cu:7"]);
    assert_eq!(explained(said).place.to_string(), "candle-kernels/src/sort.cu:20");
}

#[test]
fn without_a_source_line_the_kernel_is_the_place() {
    let fault = explained("========= Kernel executed `trap`\n=========     at canary_trap()\n");
    assert_eq!(fault.place.to_string(), "canary_trap");
}

#[test]
fn what_the_simulator_cannot_do_is_no_fault() {
    let said = "snuffer-sim: unsupported: kernel: wgmma.mma_async\n";
    let fault =
        Fault { phase: Phase::Forward, kind: CudaError::LaunchFailed, place: Place::Unknown, message: String::new() };
    assert_eq!(explain(fault, said), Outcome::Unsupported("kernel: wgmma.mma_async".to_string()));
}

/// What the simulated driver prints of one case: a fact, a race and a read out of bounds.
const PRINTED: &str = "\
snuffer-sim: fact: division of an integer by zero at k() in /x/candle-kernels-0.11.1/src/sort.cu:7
========= Race reported between write access and read access to __shared__ memory
=========     at k() in /x/candle-kernels-0.11.1/src/sort.cu:12
=========     by thread (1,0,0) in block (0,0,0)
=========     and read access at /x/candle-kernels-0.11.1/src/sort.cu:11 by thread (0,0,0) in block (0,0,0)
========= Invalid __global__ read of size 4 bytes
=========     at k() in /x/candle-kernels-0.11.1/src/sort.cu:20
=========     by thread (2,0,0) in block (0,0,0)
";
/// A failed assertion, a deadlock, a kernel that cannot be simulated, and a call that was asked to fail.
const ASSERTED: &str = "src/indexing.cu:63: void is<long, float>(): block: [0,0,0], thread: [1,0,0] Assertion `id < n` failed.\n\
     =========     at is_i64_f32() in /x/candle-kernels-0.11.1/src/indexing.cu:63\n\
     =========     by thread (1,0,0) in block (0,0,0)\n\
     =========     70 < 4 is false (u64)\n";
const DEADLOCKED: &str = "========= Barrier error detected. Divergent thread(s) in warp\n\
     =========     at canary_hang()\n\
     ========= Barrier error detected. No thread of the block can go on\n\
     =========     at canary_hang()\n\
     =========     by thread (0,0,0) in block (0,0,0)\n";
const UNSUPPORTED: &str = "snuffer-sim: unsupported: kernel: wgmma.mma_async\n";
const INJECTED: &str = "snuffer-sim: asked to fail: cuMemAllocAsync returns CUDA_ERROR_OUT_OF_MEMORY\n";

fn thread(x: u32) -> Thread {
    Thread { block: [0; 3], thread: [x, 0, 0] }
}

/// A line of one of candle's kernels.
fn source(file: &str, line: u32) -> Source {
    Source { file: format!("/x/candle-kernels-0.11.1/src/{file}"), line }
}

/// A record without calls of the program.
fn record(severity: Severity, fault: device_record::Fault, source: Option<Source>, thread: Option<Thread>) -> Record {
    let place = device_record::Place { source, ..fault.place };
    Record { severity, fault: device_record::Fault { place, thread, ..fault }, host: Vec::new() }
}

fn fault(kind: Kind, kernel: &str, detail: impl Into<Detail>) -> device_record::Fault {
    device_record::Fault::new(kind, kernel, detail)
}

/// What is printed, and the records of the same.
fn both() -> [(&'static str, Vec<Record>); 5] {
    let divided = fault(Kind::Arithmetic, "k", "division of an integer by zero");
    let race = fault(Kind::Race, "k", Detail::Race { how: How::Write, earlier: How::Read, space: Space::Shared });
    let at = Location { source: Some(source("sort.cu", 11)), ptx: 5 };
    let race = device_record::Fault { notes: vec![Note::Other { how: How::Read, at, by: thread(0) }], ..race };
    let read = fault(Kind::OutOfBounds, "k", Detail::Access { how: How::Read, space: Space::Global, bytes: 4 });
    let sort = |line| Some(source("sort.cu", line));
    let assertion = Assertion {
        source: Source { file: "src/indexing.cu".to_string(), line: 63 },
        function: "void is<long, float>()".to_string(),
        condition: "id < n".to_string(),
    };
    let asserted = fault(Kind::Assert, "is_i64_f32", Detail::Assertion(assertion));
    let asserted = device_record::Fault { notes: vec!["70 < 4 is false (u64)".to_string().into()], ..asserted };
    let diverged = fault(Kind::Barrier, "canary_hang", "Barrier error detected. Divergent thread(s) in warp");
    let stuck = fault(Kind::Deadlock, "canary_hang", "Barrier error detected. No thread of the block can go on");
    let refused = Detail::Returns { function: "cuMemAllocAsync".into(), code: "CUDA_ERROR_OUT_OF_MEMORY".into() };
    [
        (
            PRINTED,
            vec![
                record(Severity::Fact, divided, sort(7), None),
                record(Severity::Report, race, sort(12), Some(thread(1))),
                record(Severity::Fault, read, sort(20), Some(thread(2))),
            ],
        ),
        (ASSERTED, vec![record(Severity::Fault, asserted, Some(source("indexing.cu", 63)), Some(thread(1)))]),
        (
            DEADLOCKED,
            vec![record(Severity::Report, diverged, None, None), record(Severity::Fault, stuck, None, Some(thread(0)))],
        ),
        (
            UNSUPPORTED,
            vec![record(Severity::Unsupported, fault(Kind::Unsupported, "kernel", "wgmma.mma_async"), None, None)],
        ),
        (INJECTED, vec![record(Severity::Injected, fault(Kind::Injected, "cuMemAllocAsync", refused), None, None)]),
    ]
}

/// The file that the driver writes of `records`. The process died while it wrote another.
fn written(records: &[Record]) -> String {
    let line = |record: &Record| serde_json::to_string(record).expect("it has a form in JSON") + "\n";
    records.iter().map(line).collect::<String>() + r#"{"severity":"fault","kind":"trap","ker"#
}

#[test]
fn records_and_text_say_the_same() {
    let fault =
        Fault { phase: Phase::Forward, kind: CudaError::LaunchFailed, place: Place::Unknown, message: String::new() };
    for (printed, recorded) in both() {
        let (text, records) = (Reports::from_text(printed), Reports::from_records(&written(&recorded)));
        assert!(!text.is_empty());
        assert_eq!(text.explain(fault.clone()), records.explain(fault.clone()));
        for faulted in [false, true] {
            assert_eq!(text.device_reports(faulted), records.device_reports(faulted));
        }
        assert!(text.injected().eq(records.injected()));
    }
    let [(_, recorded), .., (_, injected)] = both();
    let said = Reports::from_records(&written(&recorded)).device_reports(true);
    assert_eq!((said.reports.len(), said.facts.len()), (1, 1));
    assert_eq!(Reports::from_records(&written(&injected)).injected().count(), 1);
}
