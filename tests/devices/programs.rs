//! The programs in reports: every one compiles and does the same as its case.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use snuffer::candles::fixed;
use snuffer::case::Case;
use snuffer::device::Device;
use snuffer::exec::{Deadline, Executor, Limits, reproduction};
use snuffer::generate::Mode;
use snuffer::hunt::Sample;
use snuffer::ops::{self, Contract, Op};
use snuffer::oracle::{Evidence, Kind, OracleName, Verdict, judge};
use snuffer::outcome::Outcome;
use snuffer::program::{self, ProgramOptions, agrees, imports_of, outputs, program, test};
use snuffer::store::Platform;
use snuffer::store::regression::{Expected, Regression};

use crate::crates;
use crate::kept::{regressions, scenarios};
use crate::plan::{Test, tests};

pub const TESTS: &[Test] = tests![
    Once: every_program_compiles_and_does_the_same_as_its_case, a_test_in_a_report_fails_exactly_if_its_case_is_wrong;
    Cuda: every_cuda_regression_has_a_program_that_shows_it_and_a_test_that_fails
];

/// How many valid cases of each op.
const CASES: u64 = 6;

/// A case as a program.
struct Subject {
    case: Case,
    text: String,
    outcome: Outcome,
}

fn every_cuda_regression_has_a_program_that_shows_it_and_a_test_that_fails(device: Device) {
    let limits = Limits { deadline: Duration::from_secs(10), ..Limits::default() };
    let mut executor = Executor::start(&[device], &limits.into()).expect("a worker starts");
    let hardware = executor.hardware();
    let platform = Platform::today(device, hardware.get(&device));
    let fails = |(_, regression): &(String, Regression)| regression.expected(&platform) == Expected::Fails;
    let cases = regression_cases()
        .into_iter()
        .zip(regressions())
        .filter(|(_, regression)| fails(regression))
        .map(|(case, _)| case);
    let cases: Vec<_> = cases.collect();
    let mut subjects = BTreeMap::new();
    for (name, op, case) in cases.iter().cloned().chain(on_two_devices()) {
        let outcome = executor.run(&case).expect("the harness survives");
        if matches!(device, Device::Cuda(_)) && matches!(outcome, Outcome::Unsupported(_)) {
            // This machine has no second GPU; the simulated device has two.
            continue;
        }
        let outputs = outputs(&outcome);
        let text =
            program(op, &case, &ProgramOptions { device, comments: &[], outputs: &outputs }).expect("short enough");
        subjects.insert(name, Subject { case, text, outcome });
    }
    let kind = if matches!(device, Device::Sim(_)) { "sim" } else { "cuda" };
    check_programs(&format!("programs-{kind}"), &subjects, device);
    check_tests(&format!("tests-{kind}"), &mut executor, device, cases.into_iter());
}

fn every_program_compiles_and_does_the_same_as_its_case() {
    let limits = Limits { deadline: Duration::from_secs(2), ..Limits::default() };
    let mut executor = Executor::start(&[Device::Cpu], &limits.into()).expect("a worker starts");
    let mut subjects = BTreeMap::new();
    let mut long = 0;
    for (name, op, case) in cases() {
        let observations = executor.observe(&case, Deadline::Full).expect("the harness survives");
        if reads_around_a_view(&judge(&Evidence::new(op, &case, &observations))) {
            continue;
        }
        let outcome = observations[0].outcome.clone();
        let outputs = outputs(&outcome);
        match program(op, &case, &ProgramOptions { device: Device::Cpu, comments: &[], outputs: &outputs }) {
            Ok(text) => drop(subjects.insert(name, Subject { case, text, outcome })),
            Err(why) if why.contains("too many") => long += 1,
            Err(why) => panic!("{name}: {why}"),
        }
    }
    assert!(subjects.len() > 10 * long, "{long} of {} cases are too long for a program", subjects.len());
    check_programs("programs", &subjects, Device::Cpu);
}

/// Whether candle takes a view for contiguous: the values that it reads around it differ from process to process.
fn reads_around_a_view(verdict: &Verdict) -> bool {
    verdict.violations().iter().any(|it| it.kind == Kind::WrongValue && it.site.to_string().contains("in a view"))
}

/// Builds the programs of `subjects` as one crate, runs each on `device`, and compares it with its case.
fn check_programs(krate: &str, subjects: &BTreeMap<String, Subject>, device: Device) {
    let binary = build(krate, device, subjects.iter().map(|(name, subject)| (name, &subject.text)));
    let differs = |(name, subject): (&String, &Subject)| differs(&binary, name, subject, device);
    let wrong: Vec<String> = subjects.iter().filter_map(differs).collect();
    assert!(
        wrong.is_empty(),
        "{} of {} programs differ from their cases:\n{}",
        wrong.len(),
        subjects.len(),
        wrong.join("\n")
    );
}

fn a_test_in_a_report_fails_exactly_if_its_case_is_wrong() {
    let limits = Limits { deadline: Duration::from_secs(2), ..Limits::default() };
    let mut executor = Executor::start(&[Device::Cpu], &limits.into()).expect("a worker starts");
    // The first case of each op, and the regressions.
    let some = cases().filter(|(name, ..)| name.ends_with("_0") || name.starts_with("regression"));
    check_tests("tests", &mut executor, Device::Cpu, some);
}

/// Builds the tests of `cases` as one crate and runs each: it must fail exactly if its case is wrong.
fn check_tests(
    krate: &str,
    executor: &mut Executor,
    device: Device,
    cases: impl Iterator<Item = (String, &'static Op, Case)>,
) {
    let (mut tests, mut wrong, mut without) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
    for (name, op, case) in cases {
        let observations = executor.observe(&case, Deadline::Full).expect("the harness survives");
        let evidence = Evidence::new(op, &case, &observations);
        let oracles: Vec<OracleName> = match judge(&evidence) {
            // What only the simulated device's checkers see, no test of candle's would. One of what hangs would not end.
            Verdict::Fail(all) if all[0].oracle == OracleName::Checker || all[0].kind == Kind::Hang => continue,
            Verdict::Fail(all) => vec![all[0].oracle],
            Verdict::Pass => vec![OracleName::Reference, OracleName::Gradient],
            Verdict::Partly(_) | Verdict::Skip(_) => continue,
        };
        // A single call shows neither what a sibling does, nor what the documentation lacks, nor a second derivative, nor a cost.
        let shows = |oracle: &OracleName| {
            use OracleName::{Cost, Documentation, SecondDerivative, Siblings};
            ![Siblings, Documentation, SecondDerivative, Cost].contains(oracle)
        };
        for oracle in oracles.into_iter().filter(shows) {
            let (name, fails) = (format!("{name}_{oracle}"), judge(&evidence) != Verdict::Pass);
            match test(&evidence, &observations[0], oracle) {
                Ok(test) => {
                    let opened = if device == Device::Cpu { "Device::Cpu" } else { "Device::new_cuda(0)?" };
                    let main = format!(
                        "fn main() -> candle_core::Result<()> {{ \
                         {}.map_err(|error| candle_core::Error::Msg(error.to_string())) }}",
                        test.call(opened)
                    );
                    let program::Test { file, imports, function, .. } = test;
                    // Here it is no test, but a function of a program.
                    let function: String =
                        function.split_inclusive('\n').filter(|line| !line.starts_with("#[")).collect();
                    // A file of its own is not there yet.
                    let source = fixed::source(&file).unwrap_or_default();
                    let own: String = imports_of(&source).map(imported).collect();
                    let imports = imports.beside(&source);
                    tests.insert(
                        name.clone(),
                        format!("use candle_core as candle;\n{own}{imports}\n{function}\n{main}\n"),
                    );
                    wrong.insert(name, fails);
                }
                // The call returns an `Err` late.
                Err(why) if why.starts_with("with enough memory") => {}
                Err(why) if fails => without.push(format!("{name}: {why}")),
                Err(_) => {}
            }
        }
    }
    assert!(without.is_empty(), "violations without a test:\n{}", without.join("\n"));
    assert!(wrong.values().filter(|wrong| **wrong).count() > 50, "few tests that fail");
    let binary = build(krate, device, tests.iter());
    let limits = Limits { deadline: Duration::from_secs(10), memory_mib: 8192, ..Limits::default() };
    let misleading: Vec<String> = tests
        .iter()
        .filter_map(|(name, text)| {
            let ran = reproduction::run(&binary, &[name], device, limits).expect("a shell runs");
            let failed = ran.code != Some(0);
            (failed != wrong[name]).then(|| format!("-- {name}\n{text}\n{}", ran.stderr))
        })
        .collect();
    assert!(
        misleading.is_empty(),
        "{} of {} tests have the wrong result:\n{}",
        misleading.len(),
        tests.len(),
        misleading.join("\n")
    );
}

/// The `use` item of a file of candle's tests, of crates that the programs have.
fn imported(paths: &str) -> String {
    match paths.split("::").next() {
        Some("candle" | "candle_core" | "candle_nn") => format!("use {paths};\n"),
        Some("anyhow") => format!("use crate::{paths};\n"),
        _ => String::new(),
    }
}

/// What candle's tests use of the crate of this name, which programs do without.
const ANYHOW: &str = "mod anyhow {
    pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;
    pub trait Context {}
}";

fn cases() -> impl Iterator<Item = (String, &'static Op, Case)> {
    let drawn = ops::ALL.iter().filter(|op| op.name != "canary").flat_map(|op| {
        let name = op.name.replace('.', "_");
        let drawn = move |n| Sample::nth(&[*op], &[Mode::Valid], 1, n).drawn.case;
        // A minimized case may lack any param.
        let bare = Case { params: BTreeMap::new(), ..drawn(0) };
        let accepted = matches!(op.contract(&bare), Contract::Accepts { .. });
        let bare = accepted.then(|| (format!("{name}_bare"), *op, bare));
        bare.into_iter().chain((0..CASES).map(move |n| (format!("{name}_{n}"), *op, drawn(n))))
    });
    // A relation makes no call that its contract does not accept.
    let is_made = |(_, op, case): &(String, &Op, Case)| {
        !op.is_relation() || matches!(op.contract(case), Contract::Accepts { .. })
    };
    drawn.filter(is_made).chain(regression_cases())
}

/// The regressions.
fn regression_cases() -> Vec<(String, &'static Op, Case)> {
    let named = |(n, (_, regression)): (usize, (String, Regression))| {
        let op = ops::find(&regression.case.op).expect("an op");
        (format!("regression_{n}_{}", op.name.replace('.', "_")), op, regression.case)
    };
    regressions().into_iter().enumerate().map(named).collect()
}

/// The scenarios that need a second device.
fn on_two_devices() -> impl Iterator<Item = (String, &'static Op, Case)> {
    let needing = scenarios().into_iter().filter(|(_, scenario)| ops::wants_second(&scenario.case));
    needing.map(|(name, scenario)| {
        let op = ops::find(&scenario.case.op).expect("an op");
        (format!("scenario_{}", name.replace('-', "_")), op, scenario.case)
    })
}

/// Builds one crate with a module for each program.
fn build<'a>(krate: &str, device: Device, programs: impl Iterator<Item = (&'a String, &'a String)>) -> PathBuf {
    let (mut modules, mut arms) = (String::new(), String::new());
    for (name, text) in programs {
        let text = text.replace("fn main()", "pub fn main()").replace('\n', "\n        ");
        modules += &format!("    pub mod {name} {{\n        {text}\n    }}\n");
        arms += &format!("        \"{name}\" => programs::{name}::main(),\n");
    }
    let main = format!(
        "#![allow(warnings)]\n{ANYHOW}\nmod programs {{\n{modules}}}\n\nfn main() -> candle_core::Result<()> {{\n    match \
         std::env::args().nth(1).unwrap().as_str() {{\n{arms}        other => panic!(\"no program {{other}}\"),\n    }}\n}}\n"
    );
    crates::compile(krate, device, &main)
}

/// How the program differs from its case, if it does.
fn differs(binary: &Path, name: &str, subject: &Subject, device: Device) -> Option<String> {
    // The worker ran these within limits; a program could exhaust the machine.
    if matches!(subject.outcome, Outcome::TimedOut(_) | Outcome::OutOfMemory(_) | Outcome::StackOverflow(_)) {
        return None;
    }
    let limits = Limits { memory_mib: 8192, ..Limits::default() };
    let ran = reproduction::run(binary, &[name], device, limits).expect("a shell runs");
    let (text, case) = (&subject.text, subject.case.to_text());
    let same = agrees(&subject.case, &subject.outcome, &ran);
    let printed = ran.stdout + &ran.stderr;
    (!same).then(|| format!("-- {name}\n{text}\n{printed}\nexpected {}\n{case}", subject.outcome.summary()))
}
