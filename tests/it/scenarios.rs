//! The classic stories of CUDA assertions: each does in candle what the field guide says.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use snuffer::device::Device;
use snuffer::exec::{Build, Executor, Limits};
use snuffer::ops;
use snuffer::oracle::{Evidence, Verdict, judge};
use snuffer::regression::{Place, Regression, read, surprises};

use crate::simulated;

#[test]
fn every_story_does_what_its_snapshot_and_its_status_say() {
    let limits = Limits { deadline: Duration::from_secs(20), memory_mib: 1024, ..Limits::default() };
    let mut surprised = Vec::new();
    for device in std::iter::once(Device::Cpu).chain(simulated::device()) {
        let mut executor = Executor::start(&[device], Build::Checked, limits).expect("a worker starts");
        let hardware = executor.hardware();
        let place = |device| Place::today(device, hardware.get(&device));
        let mut text = String::new();
        for (name, scenario) in scenarios() {
            let op = ops::find(&scenario.case.op).expect(&name);
            let observations = executor.observe(&scenario.case).expect("the harness survives");
            for surprise in surprises(&scenario, op, &observations, place) {
                surprised.push(format!("{name} on {}: {}", surprise.device, surprise.what));
            }
            let verdict = match judge(&Evidence::new(op, &scenario.case, &observations)) {
                Verdict::Pass => "as promised".to_string(),
                Verdict::Skip(why) => format!("nothing promised: {why}"),
                Verdict::Fail(violation) => format!("{} ({})", violation.kind, violation.oracle),
            };
            let outcome = observations[0].outcome.summary();
            text += &format!("{name}\n  {}\n  {outcome}\n  {verdict}\n\n", scenario.title);
        }
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path("../../snapshots");
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        if device != Device::Cpu {
            settings.set_snapshot_suffix("sim");
        }
        simulated::without_what_varies(&mut settings);
        settings.bind(|| insta::assert_snapshot!("scenarios", text));
    }
    assert!(surprised.is_empty(), "{}", surprised.join("\n"));
}

#[test]
fn every_story_is_told_and_what_is_told_is_there() {
    let names: BTreeSet<String> = scenarios().into_iter().map(|(name, _)| name).collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut told = BTreeSet::new();
    for document in ["docs/field-guide.md", "docs/field-guide/claims.md"] {
        let text = std::fs::read_to_string(root.join(document)).expect(document);
        for link in text.split("corpora/scenarios/").skip(1).filter_map(|rest| rest.split_once(".toml")) {
            told.insert(link.0.to_string());
        }
    }
    assert_eq!(told, names);
}

/// Every scenario by name.
pub fn scenarios() -> Vec<(String, Regression)> {
    let all = read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("corpora/scenarios")).expect("scenarios");
    assert!(all.len() >= 80, "the scenarios are gone: {} left", all.len());
    all
}
