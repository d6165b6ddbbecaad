//! The classic stories of CUDA assertions: each does in candle what the field guide says.

use std::collections::BTreeSet;
use std::path::Path;

use snuffer::device::Device;
use snuffer::oracle::{Evidence, Verdict, judge};
use snuffer::store::regression::{Regression, read};

use crate::regressions::{Replayed, replayed};

#[test]
fn every_story_does_what_its_snapshot_and_its_status_say() {
    for Replayed { device, mut settings, texts } in replayed(&scenarios(), tell) {
        settings.set_snapshot_path("../../snapshots");
        if device != Device::Cpu {
            settings.set_snapshot_suffix("sim");
        }
        let told: Vec<String> = texts.into_iter().map(|(name, told)| format!("{name}\n{told}\n")).collect();
        settings.bind(|| insta::assert_snapshot!("scenarios", told.concat()));
    }
}

/// What a scenario is about, what becomes of it, and what is thought of that.
fn tell(scenario: &Regression, evidence: &Evidence) -> String {
    let verdict = match judge(evidence) {
        Verdict::Pass => "as promised".to_string(),
        Verdict::Skip(why) => format!("nothing promised: {why}"),
        Verdict::Fail(violation) => format!("{} ({})", violation.kind, violation.oracle),
    };
    let outcome = evidence.observations[0].outcome.summary();
    format!("  {}\n  {outcome}\n  {verdict}\n", scenario.title)
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
