//! The tests that run on devices: each is run on every device that this machine must test, under a name of its own.

use std::process::ExitCode;

use libtest_mimic::Arguments;

use crate::machine::Machine;
use crate::plan::File;

mod bad_id;
mod canary;
mod candles;
mod checkers;
mod compare;
mod costs;
mod crates;
mod demo;
mod docs;
mod fidelity;
#[path = "../common/finding.rs"]
mod finding;
mod golden;
mod guard;
mod guide;
mod hardware;
mod joining;
#[path = "../common/json.rs"]
mod json;
#[path = "../common/kept.rs"]
mod kept;
mod kernels;
mod known;
mod large;
mod machine;
mod matrix;
mod missing;
#[path = "../common/output.rs"]
mod output;
#[path = "../common/place.rs"]
mod place;
mod plan;
mod programs;
mod property;
mod recovery;
mod replayed;
mod sanitizer;
mod score;
mod simulated;
mod trace;
mod vast;
mod workarounds;

/// All tests, by file, and what nobody would notice if they did not run on a device.
const FILES: &[File] = &[
    File {
        name: "property::valid",
        tests: property::VALID,
        misses: "A valid call that a device rejects, gets wrong, or dies of, and that no regression covers.",
    },
    File {
        name: "property::adversarial",
        tests: property::ADVERSARIAL,
        misses: "A bad label, index, shape or dtype that a device accepts, asserts on, or dies of.",
    },
    File {
        name: "property",
        tests: property::TESTS,
        misses: "A known failure that candle has fixed, or that has changed.",
    },
    File {
        name: "replayed",
        tests: replayed::TESTS,
        misses: "A regression or a scenario of the field guide that no longer happens.",
    },
    File { name: "workarounds", tests: workarounds::TESTS, misses: "Advice that does not help." },
    File {
        name: "canary",
        tests: canary::TESTS,
        misses: "A fault of the device that is not noticed, or is charged to the wrong case.",
    },
    File {
        name: "guard",
        tests: guard::TESTS,
        misses: "A call that asserts on the device although the guard lets it through.",
    },
    File {
        name: "recovery",
        tests: recovery::TESTS,
        misses: "A change in what works after an assert, in the examples that people copy.",
    },
    File {
        name: "programs",
        tests: programs::TESTS,
        misses: "A report whose program does not compile, or behaves differently from its case.",
    },
    File {
        name: "large",
        tests: large::TESTS,
        misses: "A call on billions of elements that no longer hangs, faults or leaves elements out, or now does.",
    },
    File {
        name: "vast",
        tests: vast::TESTS,
        misses: "A call on a broadcast of billions of elements that is wrong, or that is run although nobody can judge it.",
    },
    File { name: "trace", tests: trace::TESTS, misses: "A NaN that is blamed on the wrong call." },
    File { name: "demo", tests: demo::TESTS, misses: "A broken first tour." },
    File { name: "bad_id", tests: bad_id::TESTS, misses: "A report on a label that names the wrong cause." },
    File {
        name: "checkers",
        tests: checkers::TESTS,
        misses: "A race or an uninitialized read that the simulated device no longer sees.",
    },
    File { name: "costs", tests: costs::TESTS, misses: "A call that needs memory or work out of proportion." },
    File {
        name: "guide",
        tests: guide::TESTS,
        misses: "A command in a guide that no longer prints what the guide shows.",
    },
    File {
        name: "joining",
        tests: joining::TESTS,
        misses: "A hunt that does not add a device that was built meanwhile.",
    },
    File {
        name: "candles",
        tests: candles::TESTS,
        misses: "A hunt of another candle that runs the wrong one, or takes its failures for those of the release.",
    },
    File {
        name: "compare",
        tests: compare::TESTS,
        misses: "A comparison of two candles that misses a breakage, or invents one.",
    },
    File {
        name: "kernels",
        tests: kernels::TESTS,
        misses: "An edited kernel that is not run, or whose failures are taken for candle's own.",
    },
    File {
        name: "matrix",
        tests: matrix::TESTS,
        misses: "A dtype that candle accepts or rejects, contrary to the tables.",
    },
    File { name: "score", tests: score::TESTS, misses: "Kernel bugs that the oracles should notice and do not." },
    File {
        name: "simulated",
        tests: simulated::TESTS,
        misses: "A fault that the simulated device misnames or does not survive.",
    },
    File {
        name: "hardware",
        tests: hardware::TESTS,
        misses: "A wedged GPU, a busy one, or an odd driver that ends a long run or is charged to a case.",
    },
    File {
        name: "sanitizer",
        tests: sanitizer::TESTS,
        misses: "A report of compute-sanitizer that is read wrongly or charged to the wrong case.",
    },
    File {
        name: "fidelity",
        tests: fidelity::TESTS,
        misses: "A difference between the simulated device and hardware that is not found or not named.",
    },
    File {
        name: "golden",
        tests: golden::TESTS,
        misses: "A kernel or PTX form that no longer does what hardware was recorded to do.",
    },
    File { name: "machine", tests: machine::TESTS, misses: "A device that this list should need and does not." },
    File { name: "missing", tests: missing::TESTS, misses: "A run that is green although a device was missing." },
    File { name: "docs", tests: docs::TESTS, misses: "A stale table in docs/testing.md." },
];

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let machine = match Machine::here() {
        Ok(machine) => machine,
        Err(mistake) => {
            eprintln!("{mistake}");
            return ExitCode::FAILURE;
        }
    };
    let trials = plan::trials(FILES, machine);
    let is_run = !arguments.list;
    // The message follows in the list of failures; the place would be lost.
    std::panic::set_hook(Box::new(|panic| {
        panic.location().inspect(|place| eprintln!("panicked at {place}"));
    }));
    let conclusion = libtest_mimic::run(&arguments, trials);
    if is_run {
        // The last lines: a device that is not tested must be seen.
        println!("{}", machine.summary(plan::ran));
        if !plan::are_there_recordings() {
            println!("not run: golden vectors (none are recorded; `snuffer lab golden record` on a GPU)");
        }
    }
    conclusion.exit_code()
}
