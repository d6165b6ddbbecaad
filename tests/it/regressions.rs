//! Every regression matches its snapshot, right or wrong, and fails where it is expected to: any change fails the test.

use std::path::Path;
use std::time::Duration;

use snuffer::device::Device;
use snuffer::exec::{Build, Deadline, Executor, Limits};
use snuffer::ops::{self, Contract};
use snuffer::oracle::{Evidence, Kind, judge};
use snuffer::report;
use snuffer::store::Platform;
use snuffer::store::regression::{Regression, read, surprises};
use snuffer::tensor::DType;

use crate::simulated;

const FOLDER: &str = "corpora/regressions";

#[test]
fn every_regression_does_what_its_snapshot_and_its_status_say() {
    let text = |_: &Regression, evidence: &Evidence| report::text(evidence, &judge(evidence));
    for Replayed { device, mut settings, texts } in replayed(&regressions(), text) {
        let snapshot = if device == Device::Cpu { "cpu" } else { "sim" };
        for (name, text) in texts {
            settings.set_snapshot_path(Path::new("../..").join(FOLDER).join(name));
            settings.bind(|| insta::assert_snapshot!(snapshot, text));
        }
    }
}

#[test]
fn every_regression_has_a_sentence_as_title_a_short_name_and_its_own_snapshots() {
    let mut wrong = Vec::new();
    for (name, regression) in regressions() {
        let title = &regression.title;
        let is_signature = regression.signature.as_ref().is_some_and(|own| own.to_string() == *title);
        if is_signature || !title.contains(' ') || title.len() > 100 || !begins_well(title, &regression) {
            wrong.push(format!("{name}: `{title}` is not a sentence of at most 100 characters"));
        }
        let names_source = name.split(['.', '-']).any(|word| ["rs", "cu", "cuh"].contains(&word)) || name.contains(':');
        if names_source || name.len() > 80 {
            wrong.push(format!("{name}: the name is too long, or names a line of the source"));
        }
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(FOLDER).join(&name);
        let entries = std::fs::read_dir(folder).expect("readable").map(|entry| entry.expect("readable").file_name());
        let mut files: Vec<_> = entries.map(|file| file.to_string_lossy().into_owned()).collect();
        // A snapshot under review is not part of the repository.
        files.retain(|file| !file.ends_with(".snap.new"));
        files.sort();
        if files != ["case.toml", "cpu.snap", "sim.snap"] {
            wrong.push(format!("{name}: the folder holds {}", files.join(", ")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_kept_failure_is_a_call_of_which_something_is_promised() {
    // The process dies, which is wrong whatever was promised; valid calls with an empty head do not exist.
    const UNSPECIFIED: [&str; 1] = ["attention.flash_attn/causal-empty-value-heads-segfault"];
    let all = regressions();
    let failures = all.iter().filter(|(_, regression)| regression.signature.is_some());
    let unspecified = failures.filter(|(name, regression)| {
        let op = ops::find(&regression.case.op).expect(name);
        matches!((op.contract)(&regression.case), Contract::Unspecified(_))
    });
    let names: Vec<&str> = unspecified.map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, UNSPECIFIED);
}

/// Whether a title begins with a capital letter or an identifier: a part of the op's name, a dtype, or candle's `backward`.
fn begins_well(title: &str, regression: &Regression) -> bool {
    let first = title.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).next().unwrap_or_default();
    let identifier = regression.case.op.contains(first) || DType::named(first).is_some() || first == "backward";
    first.starts_with(|c: char| c.is_ascii_uppercase()) || !first.is_empty() && identifier
}

/// What one device does with what is kept.
pub struct Replayed {
    /// The device.
    pub device: Device,
    /// The settings that all its snapshots share; the caller sets their path.
    pub settings: insta::Settings,
    /// The text of each case, by name.
    pub texts: Vec<(String, String)>,
}

/// Replays all `kept` cases on the CPU and, if it is built, on the simulated device, and renders each with `render`. Panics if a
/// case does not do what its status says.
pub fn replayed(kept: &[(String, Regression)], render: impl Fn(&Regression, &Evidence) -> String) -> Vec<Replayed> {
    // Little memory that fills quickly: the outcome must not depend on the speed of the machine.
    let limits = Limits { deadline: Duration::from_secs(20), memory_mib: 1024, ..Limits::default() };
    let (mut all, mut surprised) = (Vec::new(), Vec::new());
    for device in std::iter::once(Device::Cpu).chain(simulated::device()) {
        let mut executor = Executor::start(&[device], Build::Checked, limits).expect("a worker starts");
        let hardware = executor.hardware();
        let platform = |device| Platform::today(device, hardware.get(&device));
        let mut settings = insta::Settings::clone_current();
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        if device != Device::Cpu {
            simulated::filter_variable_parts(&mut settings);
        }
        let mut texts = Vec::new();
        for (name, regression) in kept {
            let op = ops::find(&regression.case.op).expect(name);
            // Nobody waits long for what is known to hang.
            let hangs = regression.signature.as_ref().is_some_and(|signature| signature.kind == Kind::Hang);
            let deadline = if hangs { Deadline::Short } else { Deadline::Full };
            let observations = executor.observe(&regression.case, deadline).expect("the harness survives");
            for surprise in surprises(regression, op, &observations, platform) {
                surprised.push(format!("{name} on {}: {}", surprise.device, surprise.what));
            }
            texts.push((name.clone(), render(regression, &Evidence::new(op, &regression.case, &observations))));
        }
        all.push(Replayed { device, settings, texts });
    }
    assert!(surprised.is_empty(), "{}", surprised.join("\n"));
    all
}

/// Every regression by name.
pub fn regressions() -> Vec<(String, Regression)> {
    let all = read(&Path::new(env!("CARGO_MANIFEST_DIR")).join(FOLDER)).expect("regressions");
    assert!(all.len() >= 20, "the regressions are gone: {} left", all.len());
    all
}
