//! Every regression and scenario does what its status and its snapshot say, right or wrong: any change fails a test.

use std::path::Path;
use std::time::Duration;

use snuffer::device::Device;
use snuffer::exec::{Deadline, Executor, Limits};
use snuffer::ops;
use snuffer::oracle::{Evidence, Kind, Verdict, judge};
use snuffer::outcome::Observation;
use snuffer::report;
use snuffer::store::Platform;
use snuffer::store::regression::{Regression, surprises};

use crate::kept::{REGRESSIONS, regressions, scenarios};
use crate::plan::{Test, tests};
use crate::simulated::filter_variable_parts;

pub const TESTS: &[Test] = tests![Each:
    every_regression_does_what_its_snapshot_and_its_status_say,
    every_scenario_matches_its_snapshot_and_its_status
];

fn every_regression_does_what_its_snapshot_and_its_status_say(device: Device) {
    let text = |_: &Regression, evidence: &Evidence| report::text(evidence, &judge(evidence));
    let texts = replayed(&regressions(), device, text);
    let Some(mut settings) = settings(device) else { return };
    for (name, text) in texts {
        settings.set_snapshot_path(Path::new("../..").join(REGRESSIONS).join(name));
        settings.bind(|| insta::assert_snapshot!("replay", text));
    }
}

fn every_scenario_matches_its_snapshot_and_its_status(device: Device) {
    let texts = replayed(&scenarios(), device, entry);
    let Some(mut settings) = settings(device) else { return };
    settings.set_snapshot_path("../../snapshots");
    let entries: Vec<String> = texts.into_iter().map(|(name, entry)| format!("{name}\n{entry}\n")).collect();
    settings.bind(|| insta::assert_snapshot!("scenarios", entries.concat()));
}

/// The title, the outcomes and the verdict of a scenario.
fn entry(scenario: &Regression, evidence: &Evidence) -> String {
    let verdict = match judge(evidence) {
        Verdict::Pass => "as promised".to_string(),
        Verdict::Partly(why) => format!("the value is open: {why}"),
        Verdict::Skip(why) => format!("not judged: {why}"),
        Verdict::Fail(violations) => {
            let mut shown: Vec<String> = violations.iter().map(|it| format!("{} ({})", it.kind, it.oracle)).collect();
            shown.dedup();
            shown.join(", ")
        }
    };
    let seen = |seen: &Observation| format!("  {:<6}{}\n", seen.device.to_string(), seen.outcome.summary());
    let outcomes: String = evidence.observations.iter().map(seen).collect();
    format!("  {}\n{outcomes}  {verdict}\n", scenario.title)
}

/// The settings of a snapshot: what a person sees who replays a case on the CPU and the simulated device. A GPU's messages and the
/// last bits of its values are its own, so there the status alone is checked, as on the CPU alone.
fn settings(device: Device) -> Option<insta::Settings> {
    let Device::Sim(_) = device else { return None };
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    filter_variable_parts(&mut settings);
    Some(settings)
}

/// Replays all `kept` cases on `device`, beside the CPU, and renders each with `render`. Panics if a case does not do what its
/// status says.
fn replayed(
    kept: &[(String, Regression)],
    device: Device,
    render: impl Fn(&Regression, &Evidence) -> String,
) -> Vec<(String, String)> {
    // Little memory that fills quickly: the outcome must not depend on the speed of the machine.
    let limits = Limits { deadline: Duration::from_secs(20), memory_mib: 1024, ..Limits::default() };
    let both = [Device::Cpu, device];
    let devices = if device == Device::Cpu { &both[1..] } else { &both[..] };
    let mut executor = Executor::start(devices, &limits.into()).expect("a worker starts");
    let hardware = executor.hardware();
    let platform = |device| Platform::today(device, hardware.get(&device));
    let (mut texts, mut surprised) = (Vec::new(), Vec::new());
    for (name, regression) in kept {
        let op = ops::find(&regression.case.op).expect(name);
        // Nobody waits long for what is known to hang.
        let hangs = regression.signature.as_ref().is_some_and(|signature| signature.kind == Kind::Hang);
        let deadline = if hangs { Deadline::Short } else { Deadline::Full };
        let observations = executor.observe(&regression.case, deadline).expect("the harness survives");
        for surprise in surprises(regression, op, &observations, platform) {
            surprised.push(format!(
                "{name} on {device}: {}\n  replay: target/debug/snuffer replay {REGRESSIONS}/{name}/case.toml --device {device}",
                surprise.what
            ));
        }
        texts.push((name.clone(), render(regression, &Evidence::new(op, &regression.case, &observations))));
    }
    assert!(surprised.is_empty(), "{}", surprised.join("\n"));
    texts
}
