//! Cases per second: the same small valid cases in this process, through one worker, through two, and forward only on
//! the simulated CUDA device.
//!
//! `cargo bench` builds in release; the worker is the one beside this executable's folder.

use std::time::Instant;

use snuffer::case::{Backward, Case};
use snuffer::device::Device;
use snuffer::exec::{Build, Executor, Limits};
use snuffer::generate::Mode;
use snuffer::ops::{self, Op};
use snuffer::oracle::{Evidence, Observation, judge};
use snuffer::sample::{Sample, nth};
use snuffer::tensor::Tensor;

const CASES: u64 = 20_000;

fn main() {
    let ops: Vec<&'static Op> = ops::ALL.iter().copied().filter(|op| op.name != "canary").collect();
    // Small cases: at most 64 elements in all inputs together.
    let small = |sample: &Sample| sample.drawn.case.inputs.values().filter_map(Tensor::elements).sum::<usize>() <= 64;
    let begun = Instant::now();
    let samples: Vec<Sample> =
        (0..).map(|index| nth(&ops, &[Mode::Valid], 1, index)).filter(small).take(CASES as usize).collect();
    println!("drawing            {:8.0} cases/s", rate(begun));
    snuffer::run::install_panic_hook();

    let begun = Instant::now();
    for sample in &samples {
        in_process(sample);
    }
    let alone = rate(begun);
    println!("in process         {alone:8.0} cases/s");

    let begun = Instant::now();
    through_workers(Device::Cpu, &samples);
    let one = rate(begun);
    println!("one worker         {one:8.0} cases/s, {:.2} of in process", one / alone);

    let begun = Instant::now();
    std::thread::scope(|scope| {
        for half in samples.chunks(samples.len() / 2) {
            scope.spawn(move || through_workers(Device::Cpu, half));
        }
    });
    println!("two workers        {:8.0} cases/s, {:.2} of one", rate(begun), rate(begun) / one);

    if let Err(missing) = snuffer::exec::environment::command(Device::Sim(0), Build::Checked) {
        println!("sim:0              not measured: {missing:#}");
        return;
    }
    let forward = |mut sample: Sample| {
        sample.drawn.case.backward = Backward::None;
        sample
    };
    let samples: Vec<Sample> = samples.into_iter().map(forward).collect();
    let begun = Instant::now();
    through_workers(Device::Sim(0), &samples);
    println!("sim:0, forward     {:8.0} cases/s", rate(begun));
}

fn rate(begun: Instant) -> f64 {
    CASES as f64 / begun.elapsed().as_secs_f64()
}

/// What a worker and its parent do, without the two processes.
fn in_process(sample: &Sample) {
    let case = &sample.drawn.case;
    let run = |case: &Case| snuffer::run::run(case, &candle_core::Device::Cpu, |_| {});
    let outcome = run(case);
    let again = Some(run(case)).filter(|again| *again != outcome);
    let contiguous = (!case.is_contiguous()).then(|| {
        let twin = case.contiguous();
        run(&twin);
        run(&twin)
    });
    let observations = [Observation { device: Device::Cpu, outcome, again, contiguous }];
    std::hint::black_box(judge(&Evidence::new(sample.op, case, &observations)));
}

fn through_workers(device: Device, samples: &[Sample]) {
    let mut executor =
        Executor::start(&[device], Build::Checked, Limits::default()).expect("run `cargo build --release` first");
    for sample in samples {
        let observations = executor.observe(&sample.drawn.case).expect("the harness works");
        std::hint::black_box(judge(&Evidence::new(sample.op, &sample.drawn.case, &observations)));
    }
}
