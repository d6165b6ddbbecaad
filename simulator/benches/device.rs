//! Loading candle's modules, and launching its kernels on few and on many elements.
//!
//! The PTX comes from a build with the `cuda` feature: run `cargo xtask build` first, or name its folder in `SNUFFER_PTX`.

use std::path::{Path, PathBuf};
use std::time::Instant;

use simulator::{Config, Device, FunctionId, Launch, ModuleId};

const MODULES: [&str; 11] =
    ["affine", "binary", "cast", "conv", "fill", "indexing", "quantized", "reduce", "sort", "ternary", "unary"];

/// Kernels of candle, with their modules.
const KERNELS: [(&str, &str); 5] = [
    ("affine", "affine_f32"),
    ("unary", "uexp_f32"),
    ("unary", "ugelu_f16"),
    ("binary", "badd_f32"),
    ("reduce", "fast_sum_f64"),
];

/// The columns of the table: checkers alone, and all of them.
const SWITCHES: [&str; 6] = ["none", "initialization", "races", "arithmetic", "loops", "all"];

fn main() {
    let Some(folder) = folder() else {
        println!("not measured: no PTX of candle's kernels; run `cargo xtask build`, or name a folder in SNUFFER_PTX");
        return;
    };
    let texts = MODULES.map(|name| std::fs::read_to_string(folder.join(format!("{name}.ptx"))).expect("readable"));
    let mut device = Device::new(0, &Config::default());
    let bytes: usize = texts.iter().map(String::len).sum();
    let begun = Instant::now();
    let modules = texts.each_ref().map(|text| device.load(text).expect("a module"));
    println!("load of 11 modules, {} MB: {:.1} ms", bytes / 1_000_000, begun.elapsed().as_secs_f64() * 1e3);

    let (module, kernel) = (modules[0], kernels(&texts[0])[0]);
    let begun = Instant::now();
    device.function(module, kernel).expect("a kernel of candle");
    println!("decode of {kernel}, the first kernel of the process: {:.2} ms", begun.elapsed().as_secs_f64() * 1e3);

    let begun = Instant::now();
    let names: Vec<Vec<&str>> = texts.iter().map(|text| kernels(text)).collect();
    let mut decoded = 0;
    for (&module, names) in modules.iter().zip(&names) {
        decoded += names.iter().filter(|name| device.function(module, name).is_some()).count();
    }
    println!("decode of {decoded} kernels: {:.0} ms", begun.elapsed().as_secs_f64() * 1e3);

    println!("\nµs of a launch, by checker:");
    print!("{:<12} {:>9}", "kernel", "elements");
    for name in SWITCHES {
        print!(" {name:>14}");
    }
    println!();
    for (module, name) in KERNELS {
        let text = &texts[MODULES.iter().position(|known| *known == module).expect("a module")];
        for elements in [12, 1_000_000] {
            print!("{name:<12} {elements:>9}");
            for checks in SWITCHES {
                let checks = checks.parse().expect("names of checkers");
                let mut device = Device::new(0, &Config { checks, ..Config::default() });
                let module = device.load(text).expect("a module");
                print!(" {:>14.1}", measure(&mut device, module, name, elements));
            }
            println!();
        }
    }
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

fn kernels(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.strip_prefix(".visible .entry ")?.strip_suffix('(')).collect()
}

/// The microseconds of a launch.
fn measure(device: &mut Device, module: ModuleId, name: &str, elements: u64) -> f64 {
    let function: FunctionId = device.function(module, name).expect("a kernel of candle");
    let buffer = |device: &mut Device| {
        let address = device.allocate(8 * elements).expect("memory");
        device.bytes_mut(address, 8 * elements).expect("allocated").fill(0x3c);
        address
    };
    let (left, right, out) = (buffer(device), buffer(device), buffer(device));
    // Elements, dimensions, a null layout (contiguous), then pointers, as candle passes them.
    let mut words = vec![elements, 1, 0];
    match name {
        "affine_f32" => words.extend([left, out, u64::from(2f32.to_bits()) | u64::from(1f32.to_bits()) << 32]),
        "badd_f32" => words.extend([left, right, out]),
        // Elements, elements of a sum, no dimensions, pointers: every sum is of the first element, in shared memory.
        "fast_sum_f64" => words = vec![elements, 1024, 0, 0, left, out],
        _ => words.extend([left, out]),
    }
    let params: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let blocks = if name == "fast_sum_f64" { 1 } else { elements.div_ceil(1024) as u32 };
    let launch = Launch { grid: [blocks, 1, 1], block: [1024, 1, 1], shared: 0, params };
    let times = if elements < 1000 { 2000 } else { 5 };
    device.launch(function, &launch).expect("no fault");
    let begun = Instant::now();
    for _ in 0..times {
        device.launch(function, &launch).expect("no fault");
    }
    let took = begun.elapsed().as_secs_f64() * 1e6 / f64::from(times);
    assert_eq!(device.reports(), [], "{name} is right");
    took
}
