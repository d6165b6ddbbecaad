//! What printed reports and records become: an outcome and device reports.

use snuffer::exec::diagnosis::{Reports, device_reports, explain};
use snuffer::outcome::{Fault, Outcome, Phase, Place};

fn explained(said: &str) -> Fault {
    let fault = Fault { phase: Phase::Forward, kind: String::new(), place: Place::Unknown, message: String::new() };
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
fn what_ends_nothing_is_a_remark() {
    let said = "========= Uninitialized value decides a branch\n\
         =========     at k() in /x/candle-kernels-0.11.1/src/sort.cu:12\n\
         ========= Invalid __global__ write of size 4 bytes\n\
         =========     at j() in /x/candle-kernels-0.11.1/src/sort.cu:20\n\
         snuffer-sim: fact: division of an integer by zero at k() in /x/candle-kernels-0.11.1/src/sort.cu:7\n";
    let device_reports = device_reports(said, true);
    let [report] = &device_reports.reports[..] else { panic!("{device_reports:?}") };
    assert_eq!(report.kind, "uninitialized read");
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
    let fault = Fault { phase: Phase::Forward, kind: String::new(), place: Place::Unknown, message: String::new() };
    assert_eq!(explain(fault, said), Outcome::Unsupported("kernel: wgmma.mma_async".to_string()));
}

/// What the simulated driver prints and records of one case: a race, a fact and a read out of bounds.
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
const RECORDED: &str = r#"
{"severity":"fact","kind":"arithmetic","kernel":"k","file":"/x/candle-kernels-0.11.1/src/sort.cu","line":7,"message":"division of an integer by zero at k() in /x/candle-kernels-0.11.1/src/sort.cu:7"}
{"severity":"report","kind":"race","kernel":"k","file":"/x/candle-kernels-0.11.1/src/sort.cu","line":12,"thread":[1,0,0],"message":"Race reported between write access and read access to __shared__ memory; at k() in /x/candle-kernels-0.11.1/src/sort.cu:12; by thread (1,0,0) in block (0,0,0); and read access at /x/candle-kernels-0.11.1/src/sort.cu:11 by thread (0,0,0) in block (0,0,0)"}
{"severity":"fault","kind":"out of bounds","kernel":"k","file":"/x/candle-kernels-0.11.1/src/sort.cu","line":20,"message":"Invalid __global__ read of size 4 bytes; at k() in /x/candle-kernels-0.11.1/src/sort.cu:20; by thread (2,0,0) in block (0,0,0)"}
{"severity":"fault","kind":"trap","ker"#;

/// A failed assertion and a deadlock, each in both forms.
const ASSERTED: [&str; 2] = [
    "src/indexing.cu:63: void is<long, float>(): block: [0,0,0], thread: [1,0,0] Assertion `id < n` failed.\n\
     =========     at is_i64_f32() in /x/candle-kernels-0.11.1/src/indexing.cu:63\n\
     =========     70 < 4 is false (u64)\n",
    r#"{"severity":"fault","kind":"assert","kernel":"is_i64_f32","file":"/x/candle-kernels-0.11.1/src/indexing.cu","line":63,"message":"src/indexing.cu:63: void is<long, float>(): block: [0,0,0], thread: [1,0,0] Assertion `id < n` failed.; at is_i64_f32() in /x/candle-kernels-0.11.1/src/indexing.cu:63; 70 < 4 is false (u64)"}"#,
];
const DEADLOCKED: [&str; 2] = [
    "========= Barrier error detected. Divergent thread(s) in warp\n\
     =========     at canary_hang()\n\
     ========= Barrier error detected. No thread of the block can go on\n\
     =========     at canary_hang()\n\
     =========     by thread (0,0,0) in block (0,0,0)\n",
    "{\"severity\":\"report\",\"kind\":\"barrier\",\"kernel\":\"canary_hang\",\
     \"message\":\"Barrier error detected. Divergent thread(s) in warp; at canary_hang()\"}\n\
     {\"severity\":\"fault\",\"kind\":\"deadlock\",\"kernel\":\"canary_hang\",\
     \"message\":\"Barrier error detected. No thread of the block can go on; at canary_hang(); \
     by thread (0,0,0) in block (0,0,0)\"}\n",
];
const UNSUPPORTED: [&str; 2] = [
    "snuffer-sim: unsupported: kernel: wgmma.mma_async\n",
    r#"{"severity":"unsupported","kind":"unsupported","kernel":"kernel","message":"kernel: wgmma.mma_async"}"#,
];
const INJECTED: [&str; 2] = [
    "snuffer-sim: asked to fail: cuMemAllocAsync returns CUDA_ERROR_OUT_OF_MEMORY\n",
    r#"{"severity":"injected","kind":"injected","kernel":"cuMemAllocAsync","message":"cuMemAllocAsync returns CUDA_ERROR_OUT_OF_MEMORY"}"#,
];

#[test]
fn records_and_text_say_the_same() {
    let fault = Fault { phase: Phase::Forward, kind: String::new(), place: Place::Unknown, message: String::new() };
    for [printed, recorded] in [[PRINTED, RECORDED], ASSERTED, DEADLOCKED, UNSUPPORTED, INJECTED] {
        let (text, records) = (Reports::from_text(printed), Reports::from_records(recorded));
        assert!(!text.is_empty());
        assert_eq!(text.explain(fault.clone()), records.explain(fault.clone()));
        for faulted in [false, true] {
            assert_eq!(text.device_reports(faulted), records.device_reports(faulted));
        }
        assert!(text.injected().eq(records.injected()));
    }
    let said = Reports::from_records(RECORDED).device_reports(true);
    assert_eq!((said.reports.len(), said.facts.len()), (1, 1));
    assert_eq!(Reports::from_records(INJECTED[1]).injected().count(), 1);
}
