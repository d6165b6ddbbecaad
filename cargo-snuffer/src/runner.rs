//! What Cargo runs in place of a test binary or a program: it runs that on the simulated device, each test in a process of its own.
//!
//! A fault poisons CUDA's context until the process ends, so tests that share a process would fail each other.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Context;

use crate::libtest::Binary;
use crate::process::Watch;
use crate::report::counted;
use crate::session::Session;
use crate::test_result::{Outcome, TestResult};

/// What Cargo and Rust's test harnesses return when a test failed.
const FAILED: u8 = 101;

/// Runs `command`, a binary and its arguments.
pub fn run(command: &[OsString]) -> anyhow::Result<u8> {
    let session = Session::from_environment()?;
    let [binary, args @ ..] = command else { anyhow::bail!("there is nothing to run") };
    let name = name(Path::new(binary));
    let texts: Option<Vec<String>> = args.iter().map(|arg| arg.to_str().map(str::to_string)).collect();
    let args_of_tests = texts.filter(|_| session.runs_tests && !is_documentation(Path::new(binary)));
    if let Some(args) = &args_of_tests {
        if args.iter().any(|arg| arg == "--list") {
            return Err(Command::new(binary).args(args).exec()).context("cannot run the test binary");
        }
        if let Some(test) = only_test(args) {
            let watch = Watch { binary: name, test: Some(test), keeps_output: false, timeout: None };
            return whole(&session, watch, Command::new(binary).args(args));
        }
        let tests = Binary::new(binary, args);
        if let Some(found) = tests.tests() {
            return each(&session, &name, &tests, &found);
        }
    }
    let watch = Watch { binary: name, test: None, keeps_output: false, timeout: None };
    whole(&session, watch, Command::new(binary).args(args))
}

/// Whether rustdoc made this binary, of one or more documentation tests. It runs them whatever its arguments are.
fn is_documentation(binary: &Path) -> bool {
    binary.components().any(|part| part.as_os_str().to_string_lossy().starts_with("rustdoctest"))
}

/// The test that cargo-nextest asks for: it runs each in a process of its own already.
fn only_test(args: &[String]) -> Option<String> {
    let [first, test, ..] = args else { return None };
    (first == "--exact" && args.iter().any(|arg| arg == "--nocapture")).then(|| test.clone())
}

/// Runs a program, or one test, with its output where the user sees it.
fn whole(session: &Session, watch: Watch, command: &mut Command) -> anyhow::Result<u8> {
    let (result, status) = watch.run(command)?;
    session.keep(&result)?;
    Ok(status.and_then(code).unwrap_or(FAILED))
}

/// The code of a process that ended by itself.
fn code(status: ExitStatus) -> Option<u8> {
    status.code().and_then(|code| u8::try_from(code).ok())
}

/// Runs each of the tests, as many at once as the user lets, and prints what becomes of them as libtest does.
fn each(session: &Session, name: &str, binary: &Binary, tests: &[(String, bool)]) -> anyhow::Result<u8> {
    let each = match tests.len() {
        0 => "s",
        1 => "",
        _ => "s, each in its own process",
    };
    println!("\nrunning {} test{each}", tests.len());
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || -> anyhow::Result<()> {
        while let Some((test, is_ignored)) = tests.get(next.fetch_add(1, Ordering::Relaxed)) {
            let result = if *is_ignored {
                TestResult { outcome: Outcome::Ignored, ..TestResult::new(name, Some(test)) }
            } else {
                let timeout = Some(session.options.timeout);
                let watch = Watch { binary: name.into(), test: Some(test.clone()), keeps_output: true, timeout };
                watch.run(&mut binary.alone(test))?.0
            };
            println!("test {test} ... {}", shown(&result));
            if binary.shows_output() && !result.failed() {
                print!("{}", result.output);
            }
            session.keep(&result)?;
            if result.failed() {
                failed.lock().expect("no thread panics").push(result);
            }
        }
        Ok(())
    };
    let threads = binary.threads().or_else(|| std::thread::available_parallelism().ok().map(usize::from)).unwrap_or(1);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.min(tests.len())).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("no thread panics"))
    })?;
    let failed = failed.into_inner().expect("no thread panics");
    for TestResult { test, output, .. } in &failed {
        println!("\n---- {} ----\n{}", test.as_deref().unwrap_or_default(), output.trim_end());
    }
    let ignored = tests.iter().filter(|(_, is_ignored)| *is_ignored).count();
    let passed = tests.len() - ignored - failed.len();
    let word = if failed.is_empty() { "ok" } else { "FAILED" };
    println!("\ntest result: {word}. {passed} passed; {} failed; {ignored} ignored", failed.len());
    Ok(if failed.is_empty() { 0 } else { FAILED })
}

/// A result in a few words.
fn shown(result: &TestResult) -> String {
    let word = match &result.outcome {
        Outcome::Passed => "ok",
        Outcome::Failed(why) => &format!("FAILED ({why})"),
        Outcome::TimedOut => "FAILED (timed out)",
        Outcome::Ignored => return "ignored".to_string(),
    };
    let launched = counted(result.launches.values().sum(), "launch", "launches");
    let calls = result.library_calls.values().sum();
    let called = (calls > 0).then(|| counted(calls, "library call", "library calls"));
    let kinds: BTreeSet<String> = result.records.iter().map(|record| record.fault.kind.to_string()).collect();
    let seen: Vec<String> =
        [format!("{:.2} s", result.seconds), launched].into_iter().chain(called).chain(kinds).collect();
    format!("{word} ({})", seen.join(", "))
}

/// The package and the target of a binary, without the hash that Cargo gives it.
fn name(binary: &Path) -> String {
    let stem = binary.file_stem().unwrap_or_default().to_string_lossy();
    let is_hash = |text: &str| text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let target = stem.rsplit_once('-').filter(|(_, hash)| is_hash(hash)).map_or(&*stem, |(target, _)| target);
    let target = if is_documentation(binary) { "documentation" } else { target };
    match std::env::var("CARGO_PKG_NAME") {
        Ok(package) if package != target => format!("{package}/{target}"),
        _ => target.to_string(),
    }
}
