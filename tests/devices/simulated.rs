//! The simulated CUDA device under unmodified candle: faults, and how a worker survives them.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};

use snuffer::case::Case;
use snuffer::device::Device;
use snuffer::exec::environment::command;
use snuffer::exec::{Build, Worker, WorkerSpec};
use snuffer::ops::canary;
use snuffer::oracle::{Evidence, Verdict, judge};
use snuffer::outcome::{Observation, Outcome};
use snuffer::store::Store;
use tempfile::TempDir;

use crate::place;
use crate::plan::{Test, tests};

pub const TESTS: &[Test] = tests![Simulated:
    a_label_out_of_range_is_a_device_assert_with_candles_line_and_condition,
    every_kernel_fault_has_its_kind_and_place,
    an_unsupported_instruction_is_named_and_is_not_a_violation,
    coverage_survives_a_fault,
    a_case_with_two_devices_is_not_judged_on_one,
    a_lost_device_ends_a_hunt_with_3_and_the_case_is_kept,
    an_injected_failure_is_an_error_of_candle_and_not_a_violation
];

/// Removes from snapshots what varies from run to run.
pub fn filter_variable_parts(settings: &mut insta::Settings) {
    // The address of an allocation and its launch depend on earlier cases.
    settings.add_filter("0x[0-9a-f]+", "0x…");
    settings.add_filter("launch [0-9]+( \\(`[^`]*`\\))?", "launch …");
    // PTX line numbers depend on the version of the compiler.
    settings.add_filter("in line [0-9]+ of the PTX", "in line … of the PTX");
}

fn worker(device: Device) -> Worker {
    Worker::start(device, &WorkerSpec::default()).expect("a worker starts")
}

fn run(worker: &mut Worker, case: &Case) -> Outcome {
    worker.run(case).expect("the harness survives").outcome
}

/// A loss of one row and three classes with this label.
fn labelled(op: &str, label: i64) -> Case {
    let text = format!(
        "op = \"{op}\"\n[inputs.inp]\ndtype = \"f32\"\nshape = [1, 3]\nvalues = {{ list = [0.5, 1.0, 0.0] }}\n\
         [inputs.target]\ndtype = \"i64\"\nshape = [1]\nvalues = {{ list = [{label}] }}\n"
    );
    Case::parse(&text).expect("a case")
}

fn a_label_out_of_range_is_a_device_assert_with_candles_line_and_condition(device: Device) {
    let mut worker = worker(device);
    for op in ["loss.nll", "loss.cross_entropy"] {
        for label in [-1, 3] {
            let Outcome::Faulted(fault) = run(&mut worker, &labelled(op, label)) else {
                panic!("{op} with label {label} does not fault")
            };
            assert_eq!(
                (fault.kind.name(), fault.place.to_string().as_str()),
                ("assert", "candle-kernels/src/indexing.cu:102")
            );
            let assertion = "block: [0,0,0], thread: [0,0,0] Assertion `idx < src_dim_size` failed.";
            assert!(fault.message.contains(assertion), "{}", fault.message);
            // The compared values, with the types that the kernel uses.
            let compared =
                if label < 0 { "18446744073709551615 (-1 if signed) < 3 is false" } else { "3 < 3 is false" };
            assert!(fault.message.contains(compared), "{}", fault.message);
            // The context is dead; the next case has a new one.
            assert_eq!(run(&mut worker, &labelled(op, 2)).name(), "returned", "after {op} with label {label}");
        }
    }
}

fn every_kernel_fault_has_its_kind_and_place(device: Device) {
    let mut worker = worker(device);
    for (kernel, kind, place, message) in [
        ("canary_assert", "assert", "canary.cu:1", "Assertion `the canary` failed."),
        ("canary_out_of_bounds", "illegal address", "canary_out_of_bounds", "Invalid __global__ write of size 4 bytes"),
        ("canary_misaligned", "misaligned address", "canary_misaligned", "is misaligned"),
        ("canary_trap", "launch failed", "canary_trap", "Kernel executed `trap`"),
        ("canary_hang", "hang", "canary_hang", "Infinite loop detected"),
    ] {
        let Outcome::Faulted(fault) = run(&mut worker, &canary::case(kernel)) else {
            panic!("{kernel} does not fault")
        };
        assert_eq!((fault.kind.name(), fault.place.to_string().as_str()), (kind, place), "{kernel}");
        assert!(fault.message.contains(message), "{kernel}: {}", fault.message);
    }
}

fn an_unsupported_instruction_is_named_and_is_not_a_violation(device: Device) {
    let mut worker = worker(device);
    let outcome = run(&mut worker, &canary::case("canary_unsupported"));
    assert_eq!(outcome, Outcome::Unsupported("canary_unsupported: istypep.texref".to_string()));
    let case = canary::case("canary_unsupported");
    let seen = [Observation::new(device, outcome)];
    assert!(matches!(judge(&Evidence::new(&canary::CANARY, &case, &seen)), Verdict::Skip(_)));
}

fn coverage_survives_a_fault(device: Device) {
    let mut worker = worker(device);
    run(&mut worker, &labelled("loss.nll", 3));
    run(&mut worker, &labelled("loss.nll", 1));
    let coverage = worker.finish().expect("the harness survives");
    let gather =
        coverage.kernels.iter().find(|((_, kernel), _)| kernel == "gather_i64_f32").expect("gather was launched");
    // Each case runs twice, except one that faults.
    assert_eq!(gather.1.launches, 3);
    let reached = gather.1.reached();
    assert!(reached.blocks > 3 && reached.blocks <= reached.all_blocks, "{reached:?}");
    assert!(coverage.loaded.values().any(|kernels| kernels.len() > 100), "the other kernels of the module are named");
}

fn a_case_with_two_devices_is_not_judged_on_one(device: Device) {
    let case = Case::parse(
        "op = \"tensor.to_device\"\n[params]\nto = \"second\"\n[inputs.x]\ndtype = \"f32\"\nshape = [2]\nvalues = { list = [1.0, 2.0] }\n",
    );
    let case = case.expect("a case");
    for (devices, name) in [("1", "unsupported"), ("2", "returned")] {
        let spec = WorkerSpec::default().with([("SNUFFER_SIM_DEVICES", devices.into())]);
        let mut worker = Worker::start(device, &spec).expect("a worker starts");
        let outcome = run(&mut worker, &case);
        assert_eq!(outcome.name(), name, "{}", outcome.summary());
        let seen = [Observation::new(device, outcome)];
        let op = snuffer::ops::find(&case.op).expect("registered");
        let skipped = matches!(judge(&Evidence::new(op, &case, &seen)), Verdict::Skip(_));
        assert_eq!(skipped, devices == "1");
    }
}

/// The exit code and output of `snuffer` with these arguments when an allocation is made to fail.
fn failing(allocation: &str, args: &[&str], typed: &str) -> (Option<i32>, String) {
    let mut command = Command::new(place::snuffer());
    command.args(args).env("SNUFFER_SIM_FAIL", allocation).env("SNUFFER_DEVICES", "sim:0");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("snuffer starts");
    child.stdin.take().expect("a pipe").write_all(typed.as_bytes()).expect("typed");
    let output = child.wait_with_output().expect("snuffer ends");
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A folder with links to the simulated device's libraries, which a test can break.
fn libraries(device: Device) -> TempDir {
    let command = command(device, Build::Checked).expect("built");
    let mut variables = command.get_envs();
    let (_, built) = variables.find(|(name, _)| *name == "LD_LIBRARY_PATH").expect("a simulated device's");
    let folder = tempfile::tempdir().expect("a folder");
    for library in fs::read_dir(built.expect("a folder")).expect("readable") {
        let library = library.expect("readable");
        symlink(library.path(), folder.path().join(library.file_name())).expect("linked");
    }
    folder
}

fn a_lost_device_ends_a_hunt_with_3_and_the_case_is_kept(device: Device) {
    let (libraries, store) = (libraries(device), tempfile::tempdir().expect("a folder"));
    let mut command = Command::new(place::snuffer());
    command.args(["hunt", "--ops", "loss.nll", "--device", "sim:0", "--seed", "1", "--jobs", "1", "--store"]);
    command.arg(store.path()).env("SNUFFER_SIM_LIBRARY", libraries.path());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("snuffer starts");
    let mut shown = Vec::new();
    for line in BufReader::new(child.stdout.take().expect("a pipe")).lines() {
        shown.push(line.expect("text"));
        if shown.last().is_some_and(|line| line.contains(" replay ") && !line.contains(" replay ID")) {
            let empty = libraries.path().join("empty");
            fs::write(&empty, "").expect("written");
            fs::rename(empty, libraries.path().join("libcuda.so.1")).expect("renamed");
        }
    }
    let output = child.wait_with_output().expect("snuffer ends");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{stderr}{shown:#?}");
    assert!(stderr.contains("snuffer: the worker for sim:0 does not start: "), "{stderr}");
    let kept = fs::read_dir(store.path().join("lost")).expect("a folder").next().expect("a case").expect("readable");
    let case = Case::parse(&fs::read_to_string(kept.path()).expect("readable")).expect("a case");
    assert_eq!(case.op, "loss.nll");
    let replay = format!("snuffer replay {}", kept.path().display());
    // Earlier findings are kept.
    assert!(!Store::existing(store.path()).and_then(|store| store.all()).expect("readable").is_empty());
    let [.., lost, command] = &shown[..] else { panic!("{shown:#?}") };
    assert!(lost == "lost    sim:0, after loss.nll" && command.ends_with(&replay), "{shown:#?}");
}

fn an_injected_failure_is_an_error_of_candle_and_not_a_violation(_: Device) {
    let case = labelled("loss.nll", 1).to_text();
    for allocation in ["allocation:1", "allocation:2", "cuMemAllocAsync:1:2"] {
        let (code, stdout) = failing(allocation, &["replay", "-"], &case);
        assert!(stdout.contains("asked to fail: cuMemAllocAsync returns CUDA_ERROR_OUT_OF_MEMORY"), "{stdout}");
        assert!(code == Some(0) && stdout.contains("verdict   skip"), "{stdout}");
    }
    let (_, stdout) = failing("allocation:1000", &["replay", "-"], &case);
    assert!(stdout.contains("verdict   pass"), "{stdout}");
    // A real fault is still reported, and the canary runs on a working device.
    let (code, stdout) = failing("allocation:1000", &["replay", "-"], &labelled("loss.nll", 3).to_text());
    assert!(code == Some(2) && stdout.contains("Assertion"), "{stdout}");
    let store = tempfile::tempdir().expect("a folder");
    let store = store.path().to_str().expect("a path");
    let hunt = ["hunt", "--ops", "tensor.add", "--mode", "valid", "--cases", "2", "--seed", "1", "--store", store];
    let (code, stdout) = failing("allocation:1", &hunt, "");
    assert!(code == Some(0) && stdout.contains("planted faults were caught"), "{code:?} {stdout}");
}
