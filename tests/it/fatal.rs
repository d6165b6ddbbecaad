//! Calls that end the process: a fuzzing session does not run what is like them.

use std::path::Path;
use std::time::{Duration, SystemTime};

use snuffer::case::Case;
use snuffer::device::Device;
use snuffer::exec::{Deadline, Executor, Limits};
use snuffer::fuzz::{End, Executed, Known, Target};
use snuffer::ops;
use snuffer::oracle::{Evidence, Verdict, judge};
use snuffer::store::Finding;

use crate::finding::finding;
use crate::fuzz::{corpus, execute, session};

#[test]
fn a_known_hang_is_not_run_in_the_fuzzer() {
    let folder = tempfile::tempdir().expect("a folder");
    let case = Target::Forward.drawn(1);
    let other = (2..100).map(|seed| Target::Forward.drawn(seed)).find(|other| other.op != case.op).expect("another op");
    let mut found = Known::default();
    found.add(&Finding { case: case.clone(), ..finding("forward") });
    // libFuzzer names the input that timed out like this.
    std::fs::write(folder.path().join("timeout-123"), case.to_text()).expect("written");
    let mut kept = Known::default();
    kept.add_artifacts(folder.path(), SystemTime::now()).expect("readable");
    for known in [found, kept] {
        let mut session = session(Target::Forward, known, folder.path());
        assert_eq!(execute(&mut session, &case), Executed::Refused);
        assert_ne!(execute(&mut session, &other), Executed::Refused);
    }
}

/// Calls of `op`, and whether a session runs them that knows that the first of them ended its process.
fn runs(known: &str, others: &[&str]) -> Vec<bool> {
    let parse = |text: &str| Case::parse(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let mut fatal = Known::default();
    fatal.add_fatal(&parse(known), End::Crash);
    let folder = tempfile::tempdir().expect("a folder");
    let targets = [Target::Forward, Target::Program];
    let mut sessions = targets.map(|target| session(target, fatal.clone(), folder.path()));
    let runs = |text: &&str| {
        let case = parse(text);
        let session = &mut sessions[usize::from(!case.steps.is_empty())];
        execute(session, &case) != Executed::Refused
    };
    others.iter().map(runs).collect()
}

#[test]
fn a_call_that_ended_the_process_stops_only_calls_that_are_unusual_in_the_same_way() {
    let file = |name: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpora/fatal").join(name);
        std::fs::read_to_string(path).expect("readable")
    };
    let view = file("address/tensor.conv1d-of-a-kernel-view-in-f32.toml");
    let plain =
        view.replace("[inputs.kernel.view]\nbroadcast = [2]\n", "").replacen("[1.0, 2.0]", "[1.0, 1.0, 2.0, 2.0]", 1);
    assert_eq!(runs(&view, &[&view, &plain]), [false, true]);
    let lost = file("create.arange-whose-step-is-lost.toml");
    let short = lost.replace("3000.0", "30.0");
    assert_eq!(runs(&lost, &[&lost, &short]), [false, true]);
}

#[test]
fn a_sequence_that_ended_the_process_stops_sequences_of_the_same_steps() {
    let steps = |names: &str| {
        format!(
            "op = \"sequence\"\nsteps = [{names}]\n\
             [inputs.\"1.x\"]\ndtype = \"f32\"\nshape = [1]\nvalues = {{ list = [1.0] }}\n"
        )
    };
    let (fatal, other) = (steps("\"tensor.exp\", \"tensor.log\""), steps("\"tensor.exp\", \"tensor.sqrt\""));
    assert_eq!(runs(&fatal, &[&fatal, &other]), [false, true]);
    // A call that ended the process is not run as a step either.
    let call = "op = \"tensor.log\"\n[inputs.x]\ndtype = \"f32\"\nshape = [1]\nvalues = { list = [1.0] }\n";
    assert_eq!(runs(call, &[&fatal, &other]), [false, true]);
}

#[test]
fn what_ended_an_earlier_session_is_tried_again_after_some_days() {
    const DAY: Duration = Duration::from_secs(24 * 60 * 60);
    let folder = tempfile::tempdir().expect("a folder");
    let case = Case::new("create.ones").param("rows", 2i64).param("columns", 2i64).param("dtype", "f32");
    for (name, days) in [("timeout-1", 2), ("crash-1", 7), ("oom-1", 7)] {
        std::fs::write(folder.path().join(name), case.to_text()).expect("written");
        for (age, is_run) in [(0, false), (days - 1, false), (days + 1, true)] {
            let mut known = Known::default();
            known.add_artifacts(folder.path(), SystemTime::now() + DAY * age).expect("readable");
            let executed = execute(&mut session(Target::Forward, known, Path::new("")), &case);
            assert_eq!(executed != Executed::Refused, is_run, "{name} after {age} days");
        }
        std::fs::remove_file(folder.path().join(name)).expect("removed");
    }
}

#[test]
fn a_session_says_what_it_does_not_run() {
    let text = std::fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("corpora/fatal/address/layer.conv1d-of-a-kernel-view-in-f32.toml"),
    );
    let case = Case::parse(&text.expect("readable")).expect("a case");
    let mut known = Known::default();
    known.add_fatal(&case, End::Crash);
    known.add_fatal(&case, End::Crash);
    let mut session = session(Target::Forward, known, Path::new(""));
    for _ in 0..3 {
        assert_eq!(execute(&mut session, &case), Executed::Refused);
    }
    let said: Vec<String> = session.known().fatal().map(|(fatal, count)| format!("{fatal}: {count}")).collect();
    assert_eq!(said, ["layer.conv1d in f32, kernel a view (a crash): 3"]);
}

/// If a case no longer ends its process, remove it from `corpora/fatal`.
#[test]
fn every_fatal_case_still_ends_its_process() {
    let limits = Limits { deadline: Duration::from_secs(1), ..Limits::default() };
    let mut executor = Executor::start(&[Device::Cpu], &limits.into()).expect("a worker starts");
    let (always, sanitized) = (corpus("fatal"), corpus("fatal/address"));
    assert!(always.len() >= 5 && sanitized.len() >= 5, "calls that engines do not run: {always:?}, {sanitized:?}");
    let mut known = Known::default();
    for file in always.iter().chain(&sanitized) {
        let case = Case::parse(&std::fs::read_to_string(file).expect("readable")).expect("a case");
        let seen = executor.observe(&case, Deadline::Full).expect("the harness survives");
        // AddressSanitizer ends the process on a read outside a buffer; without it, the result is wrong.
        let verdict = judge(&Evidence::new(ops::find(&case.op).expect("an op"), &case, &seen));
        let ends = seen[0].outcome.lost_the_process() != sanitized.contains(file);
        assert!(ends && matches!(verdict, Verdict::Fail(_)), "{}: {verdict:?}", file.display());
        known.add_fatal(&case, End::Kept);
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mut session = session(Target::Forward, known, folder.path());
    for file in always.iter().chain(&sanitized) {
        let executed = session.execute(&std::fs::read(file).expect("readable")).expect("the harness works");
        assert_eq!(executed, Executed::Refused, "{}", file.display());
    }
}
