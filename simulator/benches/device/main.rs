//! Loading candle's modules, and launching its kernels on few and on many elements: `cargo bench -p snuffer-simulator --bench device`.
//! With arguments, such as `badd 12`, it measures the kernels whose name contains `badd` on 12 elements.
//!
//! The PTX comes from a build with the `cuda` feature: run `cargo xtask build` first, or name its folder in `SNUFFER_PTX`. Build it
//! with `RUSTFLAGS="-C target-cpu=x86-64-v3"`, as the driver is.

mod kernels;
mod time;

use std::path::{Path, PathBuf};

use kernels::{Bench, Kernel, Prepared};
use simulator::{Config, Device};
use time::{median, thread_time};

const MODULES: [&str; 11] =
    ["affine", "binary", "cast", "conv", "fill", "indexing", "quantized", "reduce", "sort", "ternary", "unary"];

/// The columns of the table: checkers alone, and all of them.
const SWITCHES: [&str; 6] = ["none", "initialization", "races", "arithmetic", "loops", "all"];

const SIZES: [usize; 4] = [12, 1_000, 100_000, 1_000_000];

/// How often each column of a row is measured, in turn with the others.
const ROUNDS: usize = 7;

/// The least time of a measurement, in microseconds.
const LEAST: f64 = 2000.0;

fn main() {
    let Some(folder) = folder() else {
        println!("not measured: no PTX of candle's kernels; run `cargo xtask build`, or name a folder in SNUFFER_PTX");
        return;
    };
    let arguments = std::env::args().skip(1).filter(|argument| !argument.starts_with('-'));
    let (sizes, names): (Vec<String>, Vec<String>) = arguments.partition(|argument| argument.parse::<usize>().is_ok());
    let sizes = if sizes.is_empty() { SIZES.to_vec() } else { sizes.iter().flat_map(|size| size.parse()).collect() };
    let is_wanted = |kernel: &&Kernel| names.is_empty() || names.iter().any(|name| kernel.name.contains(name));
    let texts = MODULES.map(|name| std::fs::read_to_string(folder.join(format!("{name}.ptx"))).expect("readable"));
    if names.is_empty() {
        measure_start(&texts);
    }
    println!(
        "\nµs of thread time of a launch, by checker: the least of {ROUNDS}. Then all ÷ none with its spread, the median of these rounds, the"
    );
    println!("same loop in Rust, and the growth: the exponent of the time with all checkers.");
    print!("{:<30} {:>8}", "kernel", "elements");
    for name in SWITCHES {
        print!(" {name:>14}");
    }
    println!(" {:>10} {:>6} {:>8} {:>6}", "all ÷ none", "±", "Rust", "growth");
    for kernel in kernels::all().iter().filter(is_wanted) {
        let text = &texts[MODULES.iter().position(|known| *known == kernel.module).expect("a module")];
        let mut before = None;
        for &elements in &sizes {
            before = Some((elements, row(kernel, text, elements, before)));
        }
    }
}

/// Prints how long it takes to load the modules and decode their kernels.
fn measure_start(texts: &[String; 11]) {
    let mut device = Device::new(0, &Config::default());
    let bytes: usize = texts.iter().map(String::len).sum();
    let begun = thread_time();
    let modules = texts.each_ref().map(|text| device.load(text).expect("a module"));
    println!("load of 11 modules, {} MB: {:.1} ms", bytes / 1_000_000, (thread_time() - begun) / 1e3);

    let (module, kernel) = (modules[0], entries(&texts[0])[0]);
    let begun = thread_time();
    device.function(module, kernel).expect("a kernel of candle");
    println!("decode of {kernel}, the first kernel of the process: {:.2} ms", (thread_time() - begun) / 1e3);

    let begun = thread_time();
    let mut decoded = 0;
    for (&module, text) in modules.iter().zip(texts) {
        decoded += entries(text).iter().filter(|name| device.function(module, name).is_some()).count();
    }
    println!("decode of {decoded} kernels: {:.0} ms", (thread_time() - begun) / 1e3);
}

/// Measures and prints a row; returns the time with all checkers. `before` is that of fewer elements.
fn row(kernel: &Kernel, text: &str, elements: usize, before: Option<(usize, f64)>) -> f64 {
    print!("{:<30} {elements:>8}", kernel.name);
    let mut columns: Vec<(Prepared, Vec<f64>)> = SWITCHES
        .iter()
        .map(|checks| {
            let checks = checks.parse().expect("names of checkers");
            let device = Device::new(0, &Config { checks, ..Config::default() });
            (Prepared::new(device, text, kernel, elements), Vec::new())
        })
        .collect();
    let once = columns.iter_mut().map(|(prepared, _)| time_of(1, || prepared.launch())).fold(0.0, f64::max);
    let times = (LEAST / once).ceil().max(1.0) as u32;
    for _ in 0..ROUNDS {
        for (prepared, found) in &mut columns {
            found.push(time_of(times, || prepared.launch()));
        }
    }
    let least = |found: &[f64]| found.iter().copied().fold(f64::INFINITY, f64::min);
    for (_, found) in &columns {
        print!(" {:>14.1}", least(found));
    }
    let (none, all) = (&columns[0].1, &columns[SWITCHES.len() - 1].1);
    let ratios = all.iter().zip(none).map(|(all, none)| all / none).collect();
    let (middle, spread) = median(ratios);
    print!(" {middle:>10.2} {spread:>6.2}");
    match kernel.in_rust {
        Some(bench) => print!(" {:>8.1}", in_rust(bench, elements)),
        None => print!(" {:>8}", ""),
    }
    let all = least(all);
    match before {
        Some((fewer, took)) => println!(" {:>6.2}", (all / took).ln() / (elements as f64 / fewer as f64).ln()),
        None => println!(),
    }
    all
}

/// The microseconds that one of several calls takes.
fn time_of(times: u32, mut call: impl FnMut()) -> f64 {
    let begun = thread_time();
    (0..times).for_each(|_| call());
    (thread_time() - begun) / f64::from(times)
}

/// The microseconds of a kernel's loop in Rust.
fn in_rust(bench: Bench, elements: usize) -> f64 {
    let (left, right, mut out) = (vec![0.5; elements], vec![0.25; elements], vec![0.0; elements]);
    let mut run = || bench(std::hint::black_box(&left), std::hint::black_box(&right), std::hint::black_box(&mut out));
    let times = (LEAST / time_of(1, &mut run)).ceil().max(1.0) as u32;
    (0..ROUNDS).map(|_| time_of(times, &mut run)).fold(f64::INFINITY, f64::min)
}

/// The folder that `SNUFFER_PTX` names, or the newest output of candle-kernels' build script.
fn folder() -> Option<PathBuf> {
    if let Some(folder) = std::env::var_os("SNUFFER_PTX") {
        return Some(folder.into());
    }
    let me = std::env::current_exe().ok()?;
    let target = me.ancestors().nth(3)?;
    let build = target.join("debug/build");
    let outputs = std::fs::read_dir(build).ok()?.filter_map(|entry| Some(entry.ok()?.path().join("out")));
    outputs.filter(|out| out.join("quantized.ptx").is_file()).max_by_key(|out| modified(out))
}

fn modified(path: &Path) -> Option<std::time::SystemTime> {
    path.metadata().ok()?.modified().ok()
}

fn entries(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.strip_prefix(".visible .entry ")?.strip_suffix('(')).collect()
}
