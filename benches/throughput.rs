//! Cases per second over the whole catalog: the same small valid cases in this process, through one worker, through
//! two, and on the simulated CUDA device, and a few of them each in a new worker. Also lists the slowest ops.
//!
//! `cargo bench` builds in release and uses the worker from there. A word on the command line, as in
//! `cargo bench --bench throughput -- conv`, selects the ops whose names contain it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use snuffer::case::{Backward, Case};
use snuffer::device::Device;
use snuffer::exec::{Build, Deadline, Executor, WorkerSpec};
use snuffer::generate::Mode;
use snuffer::hunt::Sample;
use snuffer::ops::{self, Contract, Op};
use snuffer::oracle::{Evidence, judge};
use snuffer::outcome::Observation;
use snuffer::tensor::Tensor;

const CASES: usize = 20_000;

/// How many of the cases run in new workers.
const IN_NEW_WORKERS: usize = 200;

/// How many of the slowest ops to list.
const SLOWEST: usize = 12;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let wanted = |op: &&Op| words.is_empty() || words.iter().any(|word| op.name.contains(word.as_str()));
    let ops: Vec<&'static Op> = ops::ALL.iter().copied().filter(|op| op.name != "canary").filter(wanted).collect();
    let begun = Instant::now();
    let samples: Vec<Sample> =
        (0..).map(|index| Sample::nth(&ops, &[Mode::Valid], 1, index)).filter(small).take(CASES).collect();
    report("drawing", CASES, begun.elapsed());
    snuffer::run::install_panic_hook();

    let (samples, cpu) = through_worker(Device::Cpu, samples);
    report("one worker", samples.len(), cpu.values().sum());
    let begun = Instant::now();
    samples.iter().for_each(in_process);
    report("in process", samples.len(), begun.elapsed());
    let mut halves = samples;
    let rest = halves.split_off(halves.len() / 2);
    let count = halves.len() + rest.len();
    let begun = Instant::now();
    let samples: Vec<Sample> = std::thread::scope(|scope| {
        let threads = [halves, rest].map(|half| scope.spawn(|| through_worker(Device::Cpu, half).0));
        threads.into_iter().flat_map(|thread| thread.join().expect("a thread panicked")).collect()
    });
    report("two workers", count, begun.elapsed());
    slowest(Device::Cpu, &cpu, &samples);
    in_new_workers(Device::Cpu, &samples);

    let device = Device::Sim(0);
    if let Err(missing) = snuffer::exec::environment::command(device, Build::Checked) {
        println!("{device}: not measured: {missing:#}");
        return;
    }
    let (samples, sim) = through_worker(device, samples);
    report("sim:0", samples.len(), sim.values().sum());
    slowest(device, &sim, &samples);
    in_new_workers(device, &samples);
    let forward = |mut sample: Sample| {
        sample.drawn.case.backward = Backward::None;
        sample
    };
    let (samples, sim) = through_worker(device, samples.into_iter().map(forward).collect());
    report("sim:0, forward", samples.len(), sim.values().sum());
}

/// At most 64 elements in all inputs and 256 in all outputs.
fn small(sample: &Sample) -> bool {
    let case = &sample.drawn.case;
    let inputs: usize = case.inputs.values().filter_map(Tensor::elements).sum();
    let outputs: usize = match sample.op.contract(case) {
        Contract::Accepts { outputs, .. } => outputs.iter().map(|(_, shape)| shape.iter().product::<usize>()).sum(),
        Contract::Rejects(_) | Contract::Unspecified(_) => return false,
    };
    inputs <= 64 && outputs <= 256
}

fn report(what: &str, cases: usize, took: Duration) {
    println!("{what:18} {:8.0} cases/s of {cases}", cases as f64 / took.as_secs_f64());
}

/// Prints the ops whose cases took longest on average.
fn slowest(device: Device, took: &BTreeMap<&str, Duration>, samples: &[Sample]) {
    let count = |op: &str| samples.iter().filter(|sample| sample.op.name == op).count().max(1) as u32;
    let mut means: Vec<(Duration, &str)> = took.iter().map(|(&op, &took)| (took / count(op), op)).collect();
    means.sort_unstable_by(|a, b| b.cmp(a));
    let lines = means.iter().take(SLOWEST).map(|(mean, op)| format!("  {:8.0} µs  {op}", mean.as_secs_f64() * 1e6));
    println!("slowest on {device}, per case:\n{}", lines.collect::<Vec<_>>().join("\n"));
}

/// Runs and judges all `samples`. Returns those that leave the worker alive, and how long they took, by op.
fn through_worker(device: Device, samples: Vec<Sample>) -> (Vec<Sample>, BTreeMap<&'static str, Duration>) {
    let mut executor = Executor::start(&[device], &WorkerSpec::default()).expect("run `cargo build --release` first");
    let mut took: BTreeMap<&str, Duration> = BTreeMap::new();
    let survives = |sample: &Sample| {
        let begun = Instant::now();
        let observations = executor.observe(&sample.drawn.case, Deadline::Full).expect("the harness works");
        std::hint::black_box(judge(&Evidence::new(sample.op, &sample.drawn.case, &observations)));
        let lost = observations.iter().any(|seen| seen.outcome.lost_the_process());
        if !lost {
            *took.entry(sample.op.name).or_default() += begun.elapsed();
        }
        !lost
    };
    let mut samples = samples;
    samples.retain(survives);
    (samples, took)
}

/// Runs some of the samples, each in a new worker, as a proof does: that is mostly the start of the worker.
fn in_new_workers(device: Device, samples: &[Sample]) {
    let mut executor = Executor::start(&[device], &WorkerSpec::default()).expect("it started before");
    let some = samples.iter().step_by(samples.len().div_ceil(IN_NEW_WORKERS).max(1));
    let (begun, count) = (Instant::now(), some.len());
    for sample in some {
        std::hint::black_box(executor.observe_in_new_workers(&sample.drawn.case).expect("the harness works"));
    }
    report(&format!("{device}, new workers"), count, begun.elapsed());
}

/// Runs and judges a case as a worker and its parent do, but in one process.
fn in_process(sample: &Sample) {
    let case = &sample.drawn.case;
    let run = |case: &Case| snuffer::run::run(case, &candle_core::Device::Cpu, |_| {});
    let outcome = run(case);
    let again = Some(run(case)).filter(|again| *again != outcome);
    let contiguous = (!case.is_contiguous()).then(|| {
        let baseline = case.contiguous();
        run(&baseline);
        run(&baseline)
    });
    let observations = [Observation { again, contiguous, ..Observation::new(Device::Cpu, outcome) }];
    std::hint::black_box(judge(&Evidence::new(sample.op, case, &observations)));
}
