//! Long runs on GPUs, on a stand-in: the simulated libraries where a driver would be, so that the suite takes `cuda:0` for a GPU.

mod load;

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use snuffer::case::Case;
use snuffer::device::Device;
use snuffer::exec::unusable_device::odd;
use snuffer::exec::{Limits, Worker, WorkerSpec};
use snuffer::ops::canary;
use snuffer::outcome::{Outcome, Phase};
use snuffer::store::Record;

use crate::machine::stand_in;
use crate::output::{code, text};
use crate::place;
use crate::plan::{Test, tests};

use load::{
    a_case_that_allocates_without_end_is_noticed_on_a_busy_machine,
    time_in_which_a_process_waits_for_a_processor_does_not_count_for_a_gpu,
};

pub const TESTS: &[Test] = tests![
    Once: time_in_which_a_process_waits_for_a_processor_does_not_count_for_a_gpu,
    odd_lists_of_visible_devices_are_told_from_sound_ones;
    Simulated: a_case_that_allocates_without_end_is_noticed_on_a_busy_machine,
    cuda_means_all_gpus_and_a_case_runs_on_one_of_them_unless_they_are_named,
    a_wedged_gpu_is_taken_out_of_a_hunt_which_goes_on_with_the_other,
    a_hunt_whose_only_gpu_is_wedged_ends_with_3_and_one_line,
    a_gpu_that_cannot_be_used_is_one_line_that_says_why,
    a_hunt_with_more_workers_than_a_gpu_has_memory_for_does_not_begin,
    a_kernel_that_hangs_is_no_wedged_device,
    a_driver_that_compiles_kernels_for_seconds_makes_no_case_late,
    a_worker_that_is_killed_twice_inside_a_kernel_costs_only_its_case,
    a_fault_is_never_charged_to_the_next_case_on_a_gpu
];

const GPU: Device = Device::Cuda(0);

/// Environment variables and their values.
type Variables<'a> = &'a [(&'a str, &'a str)];

/// `snuffer` with these arguments and variables on a stand-in, with `typed` as its input.
fn snuffer(args: &[&str], variables: Variables, typed: &str) -> Output {
    let mut command = Command::new(place::snuffer());
    command.args(args).envs(stand_in()).env_remove("SNUFFER_DEVICES").env_remove("CUDA_VISIBLE_DEVICES");
    command.envs(variables.iter().copied());
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
    // A command that refuses to begin does not read it.
    let _ = child.stdin.take().expect("a pipe").write_all(typed.as_bytes());
    child.wait_with_output().expect("snuffer ends")
}

/// A hunt of `tensor.sin` with these arguments on a stand-in with two GPUs, and its record.
fn hunt(store: &Path, args: &[&str], variables: Variables) -> (Output, Record) {
    let two = [("SNUFFER_SIM_DEVICES", "2"), ("SNUFFER_SIM_MEMORY", "8192")];
    let args = [&["hunt", "--minimize", "1s", "--store", store.to_str().expect("a path")], args].concat();
    let output = snuffer(&args, &[&two, variables].concat(), "");
    let record = Record::latest(&store.join("campaigns")).expect("readable");
    let (_, record) = record.unwrap_or_else(|| panic!("no campaign: {}{}", text(&output.stdout), text(&output.stderr)));
    (output, record)
}

/// How many cases ran on `device`.
fn cases_on(record: &Record, device: &str) -> u64 {
    let outcomes = record.tally.outcomes.iter();
    outcomes.filter(|(key, _)| key.split(' ').next() == Some(device)).map(|(_, cases)| cases).sum()
}

/// A worker of the stand-in's GPU, with these variables and resources.
fn worker(variables: &[(&'static str, &str)], limits: Limits) -> Worker {
    let mut all = stand_in().to_vec();
    all.extend(variables.iter().map(|(name, value)| (*name, (*value).into())));
    Worker::start(GPU, &WorkerSpec { variables: all, ..limits.into() }).expect("a worker starts")
}

fn outcome(worker: &mut Worker, fault: &str) -> Outcome {
    worker.run(&canary::case(fault)).expect("the harness survives").outcome
}

/// Variables with which the kernel `canary_hang` runs until somebody ends it, as on hardware.
const WITHOUT_LIMIT: [(&str, &str); 2] =
    [("SNUFFER_SIM_CHECKS", "none"), ("SNUFFER_SIM_BUDGET", "18446744073709551615")];

fn cuda_means_all_gpus_and_a_case_runs_on_one_of_them_unless_they_are_named(_: Device) {
    for (devices, each) in [("cuda", 60), ("cuda:0,cuda:1", 120)] {
        let store = tempfile::tempdir().expect("a folder");
        let args =
            ["--device", devices, "--ops", "tensor.sin", "--mode", "valid", "--cases=120", "--seed=1", "--jobs=2"];
        let (output, record) = hunt(store.path(), &args, &[]);
        let shown = text(&output.stdout);
        assert!(shown.contains("hunting 1 op on cuda:0, cuda:1"), "{shown}{}", text(&output.stderr));
        assert_eq!((&record.devices[..], record.spread), (&["cuda:0".into(), "cuda:1".into()][..], devices == "cuda"));
        let (first, second) = (cases_on(&record, "cuda:0"), cases_on(&record, "cuda:1"));
        assert_eq!((first + second, record.tally.total.cases), (2 * each, 120), "{devices}");
        // How many each has is up to the machine.
        assert!(first.min(second) > 0, "{first} and {second} cases of {devices}");
    }
}

fn a_wedged_gpu_is_taken_out_of_a_hunt_which_goes_on_with_the_other(_: Device) {
    let store = tempfile::tempdir().expect("a folder");
    let wedge = format!("1:400:{}", store.path().join("launches").display());
    let variables = [("SNUFFER_SIM_WEDGE", wedge.as_str())];
    let quick = ["--jobs=2", "--timeout=5s", "--open-timeout=2s"];
    let args = [&["--device=cuda", "--ops=tensor.sin", "--mode=valid", "--cases=600", "--seed=3"][..], &quick].concat();
    let (output, record) = hunt(store.path(), &args, &variables);
    let shown = text(&output.stdout);
    assert_eq!(code(&output), 3, "{shown}{}", text(&output.stderr));
    for said in
        ["lost    cuda:1, after tensor.sin", "cuda:1 is wedged: a new process runs no kernel", "continues with cuda:0"]
    {
        assert!(shown.contains(said), "{said}: {shown}");
    }
    // The one case that met the wedge has no verdict, and none is charged with a hang.
    assert!(record.finished && record.next == 600, "{record:?}");
    assert_eq!((&record.lost[..], record.tally.total.cases), (&["cuda:1".to_string()][..], 599));
    assert!(record.tally.signatures.is_empty() && cases_on(&record, "cuda:1") > 0, "{record:?}");
    let kept =
        std::fs::read_dir(store.path().join("lost")).expect("a folder").next().expect("a case").expect("readable");
    let kept = std::fs::read_to_string(kept.path()).expect("readable");
    assert!(kept.starts_with("# cuda:1 is wedged") && kept.contains("# what it did on cuda:1: no answer in"), "{kept}");
    assert_eq!(Case::parse(&kept).expect("a case").op, "tensor.sin");

    // A resumed campaign tries it once more, and has it back when it answers.
    let resume = |cases| [&["--resume", "--device=cuda", cases][..], &quick].concat();
    let (output, record) = hunt(store.path(), &resume("--cases=640"), &variables);
    let shown = text(&output.stdout);
    assert!(code(&output) == 3 && shown.contains("the hunt continues with cuda:0"), "{shown}{}", text(&output.stderr));
    let before = cases_on(&record, "cuda:1");
    assert_eq!((record.next, &record.lost[..]), (640, &["cuda:1".to_string()][..]));
    let (output, record) = hunt(store.path(), &resume("--cases=680"), &[]);
    assert_eq!((code(&output), record.next, record.lost.len()), (0, 680, 0), "{}", text(&output.stderr));
    assert!(cases_on(&record, "cuda:1") > before, "{record:?}");
}

fn a_hunt_whose_only_gpu_is_wedged_ends_with_3_and_one_line(_: Device) {
    let store = tempfile::tempdir().expect("a folder");
    let wedge = format!("0:300:{}", store.path().join("launches").display());
    let args = ["--device=cuda:0", "--ops=tensor.sin", "--seed=1", "--cases=2000", "--jobs=2", "--open-timeout=2s"];
    let (output, record) = hunt(store.path(), &args, &[("SNUFFER_SIM_WEDGE", &wedge)]);
    let (shown, stderr) = (text(&output.stdout), text(&output.stderr));
    let errors: Vec<&str> = stderr.lines().filter(|line| line.starts_with("snuffer: ")).collect();
    assert!(code(&output) == 3 && errors.len() == 1 && errors[0].contains("cuda:0 is wedged"), "{shown}{stderr}");
    assert_eq!((&record.lost[..], record.finished), (&["cuda:0".to_string()][..], false));
    assert!(store.path().join("lost").is_dir() && record.tally.total.cases > 0, "{record:?}");
}

fn a_gpu_that_cannot_be_used_is_one_line_that_says_why(_: Device) {
    let folder = tempfile::tempdir().expect("a folder");
    let wedge = format!("0:1:{}", folder.path().join("launches").display());
    let two = ("SNUFFER_SIM_DEVICES", "2");
    let table: [(&str, Variables, i32, &str); 14] = [
        ("cuda:0", &[("CUDA_VISIBLE_DEVICES", "")], 1, "CUDA_VISIBLE_DEVICES is ``, which hides every GPU"),
        ("cuda", &[("CUDA_VISIBLE_DEVICES", "")], 1, "CUDA_VISIBLE_DEVICES is ``, which hides every GPU"),
        ("cuda:0", &[("CUDA_VISIBLE_DEVICES", "-1")], 1, "which hides every GPU"),
        ("cuda:0", &[("CUDA_VISIBLE_DEVICES", "7")], 1, "this machine has no GPU `7`"),
        ("cuda:0", &[two, ("CUDA_VISIBLE_DEVICES", "0,7")], 1, "this machine has no GPU `7`"),
        ("cuda", &[two, ("CUDA_VISIBLE_DEVICES", "0,7")], 1, "this machine has no GPU `7`"),
        ("cuda:0", &[two, ("CUDA_VISIBLE_DEVICES", "1,1")], 1, "which names `1` twice"),
        ("cuda:1", &[], 1, "there is no device with this number"),
        ("cuda:0", &[("SNUFFER_SIM_HELD", "1500")], 1, " of its 2048 MiB are free, and a worker may use 768 MiB;"),
        ("cuda:0", &[("SNUFFER_SIM_HELD", "2048")], 1, "it has no memory left; `nvidia-smi` shows what uses it"),
        ("cuda:0", &[("SNUFFER_SIM_FAIL", "cuModuleLoadData:%1:222")], 1, "its driver is older than the CUDA toolkit"),
        ("cuda:0", &[("SNUFFER_SIM_FAIL", "cuInit:%1:803")], 1, "have different versions"),
        ("cuda", &[("SNUFFER_SIM_FAIL", "cuInit:%1:804")], 1, "its driver is older than the CUDA toolkit"),
        (
            "cuda:0",
            &[("SNUFFER_SIM_WEDGE", &wedge)],
            3,
            "cuda:0 is wedged: a new process runs no kernel on it within 2 s",
        ),
    ];
    for (device, variables, exit, message) in table {
        let case = canary::case("none").to_text();
        let output = snuffer(&["replay", "-", "--device", device, "--open-timeout=2s"], variables, &case);
        let stderr = text(&output.stderr);
        assert!(stderr.contains(message) && stderr.lines().count() == 1, "{device} {variables:?}: {stderr}");
        assert_eq!(code(&output), exit, "{device} {variables:?}: {stderr}");
    }
    // With the same variables in order, it can.
    let sound = [two, ("CUDA_VISIBLE_DEVICES", "1,0,-1"), ("SNUFFER_SIM_HELD", "1000")];
    let output = snuffer(&["replay", "-", "--device", "cuda"], &sound, &canary::case("none").to_text());
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
}

fn a_hunt_with_more_workers_than_a_gpu_has_memory_for_does_not_begin(_: Device) {
    let store = tempfile::tempdir().expect("a folder");
    let store = store.path().to_str().expect("a path");
    let args = ["hunt", "--ops=tensor.sin", "--cases=1", "--device=cuda:0", "--jobs=3", "--store", store];
    let output = snuffer(&args, &[], "");
    let stderr = text(&output.stderr);
    assert!(code(&output) == 1 && stderr.contains("3 workers may use 768 MiB each"), "{stderr}");
    let less = [("SNUFFER_SIM_HELD", "1500")];
    let output = snuffer(&[&args[..], &["--gpu-memory=128"]].concat(), &less, "");
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
}

fn odd_lists_of_visible_devices_are_told_from_sound_ones() {
    for (named, visible, is_odd) in [
        ("0", 1, false),
        ("0,1", 2, false),
        ("0,-1,1", 1, false),
        ("MIG-a,MIG-b", 1, false),
        ("GPU-1", 0, true),
        ("0,5", 1, true),
        ("-1", 0, true),
        ("", 0, true),
        ("1,1", 0, true),
    ] {
        assert_eq!(odd(named, visible).is_some(), is_odd, "{named} with {visible} visible: {:?}", odd(named, visible));
    }
}

fn a_kernel_that_hangs_is_no_wedged_device(_: Device) {
    let limits = Limits { deadline: Duration::from_secs(1), ..Limits::default() };
    let mut worker = worker(&WITHOUT_LIMIT, limits);
    assert_eq!(outcome(&mut worker, "canary_hang"), Outcome::TimedOut(Phase::Forward));
    assert_eq!(outcome(&mut worker, "none").name(), "returned");
}

fn a_driver_that_compiles_kernels_for_seconds_makes_no_case_late(_: Device) {
    let one = "{ dtype = \"f32\", shape = [1], values = { list = [1.0] } }";
    let case = format!("op = \"tensor.add\"\ninputs = {{ lhs = {one}, rhs = {one} }}\n");
    // The first worker of a process has time to load all kernels.
    let compiled = tempfile::tempdir().expect("a folder");
    let folder = ("CUDA_CACHE_PATH", compiled.path().to_str().expect("a path"));
    let output = snuffer(&["replay", "-", "--device=cuda:0", "--timeout=3s"], &[folder], &case);
    assert_eq!(code(&output), 0, "{}{}", text(&output.stdout), text(&output.stderr));
    // A later one whose driver has kept none of them is late.
    let limits = || Limits { deadline: Duration::from_secs(3), ..Limits::default() };
    drop(worker(&[], limits()));
    let empty = tempfile::tempdir().expect("a folder");
    let mut late = worker(&[("CUDA_CACHE_PATH", empty.path().to_str().expect("a path"))], limits());
    let outcome = late.run(&Case::parse(&case).expect("a case")).expect("the harness survives").outcome;
    assert_eq!(outcome, Outcome::TimedOut(Phase::Forward));
}

fn a_worker_that_is_killed_twice_inside_a_kernel_costs_only_its_case(_: Device) {
    let mark = format!("a-test-of-{}", std::process::id());
    let variables = [&WITHOUT_LIMIT[..], &[("SNUFFER_TEST_MARK", mark.as_str())]].concat();
    let mut worker = worker(&variables, Limits { deadline: Duration::from_secs(60), ..Limits::default() });
    let killer = std::thread::spawn(move || {
        let mut killed = None;
        for _ in 0..2 {
            // It waits for a case at first, and is busy as long as the kernel runs.
            let until = Instant::now() + Duration::from_secs(30);
            let busy = || marked(&mark).filter(|id| Some(*id) != killed && processor_ticks(*id) >= 50);
            while busy().is_none() && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(20));
            }
            killed = busy();
            let id = killed.expect("the worker runs").to_string();
            assert!(Command::new("kill").args(["-9", &id]).status().expect("kill runs").success());
        }
    });
    let problem = worker.run(&canary::case("canary_hang")).expect_err("it was killed").to_string();
    killer.join().expect("killed");
    assert!(problem.contains("the machine killed the worker"), "{problem}");
    assert_eq!(outcome(&mut worker, "none").name(), "returned");
}

/// The process that has `mark` in its environment.
fn marked(mark: &str) -> Option<u32> {
    let processes = std::fs::read_dir("/proc").expect("readable").filter_map(Result::ok);
    let ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let has_mark = |id: &u32| {
        let environment = std::fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
        String::from_utf8_lossy(&environment).contains(mark)
    };
    ids.filter(|id| *id != std::process::id()).find(has_mark)
}

fn processor_ticks(id: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    stat.split(' ').nth(13).and_then(|ticks| ticks.parse().ok()).unwrap_or(u64::MAX)
}

fn a_fault_is_never_charged_to_the_next_case_on_a_gpu(_: Device) {
    let store = tempfile::tempdir().expect("a folder");
    let args = [
        "--device=cuda:0",
        "--ops=tensor.sin",
        "--mode=valid",
        "--inject=2",
        "--cases=60",
        "--timeout=500ms",
        "--jobs=2",
    ];
    let (output, record) = hunt(store.path(), &args, &[]);
    assert_eq!(code(&output), 0, "{}{}", text(&output.stdout), text(&output.stderr));
    assert_eq!(record.tally.canaries.len(), 14);
    assert!(record.tally.canaries.values().all(|counts| *counts == (2, 2)), "{:?}", record.tally.canaries);
    assert_eq!((record.tally.total.failed, record.tally.total.cases), (0, 32), "{:?}", record.tally);
}
