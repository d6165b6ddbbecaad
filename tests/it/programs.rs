//! The programs that reports hold: every one compiles, and does what its case does.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use snuffer::case::Case;
use snuffer::device::Device;
use snuffer::exec::{Build, Executor, Limits, reproduction};
use snuffer::generate::Mode;
use snuffer::ops::{self, Contract, Op};
use snuffer::outcome::Outcome;
use snuffer::regression::{Expected, Place};
use snuffer::report::{About, Candle, agrees, manifest, outputs, program};
use snuffer::sample::nth;

use crate::regressions::regressions;
use crate::simulated;

/// How many valid cases of each op.
const CASES: u64 = 6;

/// A case as a program.
struct Subject {
    case: Case,
    text: String,
    outcome: Outcome,
}

/// Those of CUDA devices need candle's kernels, for which `cargo xtask test` says where the compiler is.
#[test]
fn every_regression_of_cuda_is_a_program_that_shows_it() {
    let Some(device) = simulated::device() else { return };
    if std::env::var_os("CUDA_HOME").is_none() {
        let _ = writeln!(std::io::stderr(), "programs are not run on {device}: only `cargo xtask test` builds them");
        return;
    }
    let limits = Limits { deadline: Duration::from_secs(10), ..Limits::default() };
    let mut executor = Executor::start(&[device], Build::Checked, limits).expect("a worker starts");
    let hardware = executor.hardware();
    let place = Place::today(device, hardware.get(&device));
    let mut subjects = BTreeMap::new();
    for (n, (_, regression)) in regressions().into_iter().enumerate() {
        if regression.expected(&place) != Expected::Fails {
            continue;
        }
        let op = ops::find(&regression.case.op).expect("an op");
        let case = regression.case;
        let outcome = executor.run(&case).expect("the harness survives");
        let outputs = outputs(&outcome);
        let text = program(op, &case, &About { device, comments: &[], outputs: &outputs }).expect("short enough");
        let name = format!("regression_{n}_{}", op.name.replace('.', "_"));
        subjects.insert(name, Subject { case, text, outcome });
    }
    check(&subjects, device);
}

#[test]
fn every_program_compiles_and_does_what_its_case_does() {
    let limits = Limits { deadline: Duration::from_secs(2), ..Limits::default() };
    let mut executor = Executor::start(&[Device::Cpu], Build::Checked, limits).expect("a worker starts");
    let mut subjects = BTreeMap::new();
    let mut long = 0;
    for (name, op, case) in cases() {
        let outcome = executor.run(&case).expect("the harness survives");
        let outputs = outputs(&outcome);
        match program(op, &case, &About { device: Device::Cpu, comments: &[], outputs: &outputs }) {
            Ok(text) => drop(subjects.insert(name, Subject { case, text, outcome })),
            Err(why) if why.contains("too many") => long += 1,
            Err(why) => panic!("{name}: {why}"),
        }
    }
    assert!(subjects.len() > 10 * long, "{long} of {} cases are too long for a program", subjects.len());
    check(&subjects, Device::Cpu);
}

/// Builds the programs of `subjects`, runs each on `device`, and compares.
fn check(subjects: &BTreeMap<String, Subject>, device: Device) {
    let binary = build(subjects, device);
    let differs = |(name, subject): (&String, &Subject)| differs(&binary, name, subject, device);
    let wrong: Vec<String> = subjects.iter().filter_map(differs).collect();
    assert!(
        wrong.is_empty(),
        "{} of {} programs do something else:\n{}",
        wrong.len(),
        subjects.len(),
        wrong.join("\n")
    );
}

fn cases() -> impl Iterator<Item = (String, &'static Op, Case)> {
    let drawn = ops::ALL.iter().filter(|op| op.name != "canary").flat_map(|op| {
        let name = op.name.replace('.', "_");
        let drawn = move |n| nth(&[*op], &[Mode::Valid], 1, n).drawn.case;
        // A minimized case may lack any param.
        let bare = Case { params: BTreeMap::new(), ..drawn(0) };
        let accepted = matches!((op.contract)(&bare), Contract::Accepts { .. });
        let bare = accepted.then(|| (format!("{name}_bare"), *op, bare));
        bare.into_iter().chain((0..CASES).map(move |n| (format!("{name}_{n}"), *op, drawn(n))))
    });
    let kept = regressions().into_iter().enumerate().map(|(n, (_, regression))| {
        let op = ops::find(&regression.case.op).expect("an op");
        (format!("regression_{n}_{}", op.name.replace('.', "_")), op, regression.case)
    });
    drawn.chain(kept)
}

/// One crate with a module for each program, built in a folder that is kept.
fn build(subjects: &BTreeMap<String, Subject>, device: Device) -> PathBuf {
    let name = if device == Device::Cpu { "programs" } else { "programs-cuda" };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(folder.join("src")).expect("writable");
    let mut main = "#![allow(warnings)]\nmod programs {\n".to_string();
    for (name, subject) in subjects {
        let text = subject.text.replace("fn main()", "pub fn main()").replace('\n', "\n        ");
        main += &format!("    pub mod {name} {{\n        {text}\n    }}\n");
    }
    main += "}\n\nfn main() -> candle_core::Result<()> {\n    match std::env::args().nth(1).unwrap().as_str() {\n";
    for name in subjects.keys() {
        main += &format!("        \"{name}\" => programs::{name}::main(),\n");
    }
    main += "        other => panic!(\"no program {other}\"),\n    }\n}\n";
    let all = main.clone() + "// half:: float8::";
    std::fs::write(folder.join("src/main.rs"), main).expect("writable");
    std::fs::write(folder.join("Cargo.toml"), manifest("programs", &all, device, Candle::TESTED)).expect("writable");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(&folder).args(["build", "--quiet", "--target-dir", "target"]);
    let built = cargo.output().expect("cargo runs");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    folder.join("target/debug/programs")
}

/// What the program does differently, if anything.
fn differs(binary: &Path, name: &str, subject: &Subject, device: Device) -> Option<String> {
    // What exhausts the machine was run once, by the worker, within limits.
    if matches!(subject.outcome, Outcome::TimedOut(_) | Outcome::OutOfMemory(_) | Outcome::StackOverflow(_)) {
        return None;
    }
    let limits = Limits { memory_mib: 8192, ..Limits::default() };
    let ran = reproduction::run(binary, &[name], device, limits).expect("a shell runs");
    let (text, case) = (&subject.text, subject.case.to_text());
    let same = agrees(&subject.case, &subject.outcome, &ran);
    let said = ran.stdout + &ran.stderr;
    (!same).then(|| format!("-- {name}\n{text}\n{said}\nexpected {}\n{case}", subject.outcome.summary()))
}
