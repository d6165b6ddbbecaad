//! The scenarios of the field guide: each does in candle what the guide says.

use std::collections::BTreeSet;
use std::path::Path;

use snuffer::device::Device;
use snuffer::oracle::{Evidence, Verdict, judge};
use snuffer::store::regression::{Regression, read};

use crate::regressions::{Replayed, replayed};

#[test]
fn every_scenario_matches_its_snapshot_and_its_status() {
    for Replayed { device, mut settings, texts } in replayed(&scenarios(), entry) {
        settings.set_snapshot_path("../../snapshots");
        if device != Device::Cpu {
            settings.set_snapshot_suffix("sim");
        }
        let entries: Vec<String> = texts.into_iter().map(|(name, entry)| format!("{name}\n{entry}\n")).collect();
        settings.bind(|| insta::assert_snapshot!("scenarios", entries.concat()));
    }
}

/// The title, the outcome and the verdict of a scenario.
fn entry(scenario: &Regression, evidence: &Evidence) -> String {
    let verdict = match judge(evidence) {
        Verdict::Pass => "as promised".to_string(),
        Verdict::Skip(why) => format!("nothing promised: {why}"),
        Verdict::Fail(violation) => format!("{} ({})", violation.kind, violation.oracle),
    };
    let outcome = evidence.observations[0].outcome.summary();
    format!("  {}\n  {outcome}\n  {verdict}\n", scenario.title)
}

#[test]
fn the_guide_links_every_scenario_and_no_other() {
    let names: BTreeSet<String> = scenarios().into_iter().map(|(name, _)| name).collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut linked = BTreeSet::new();
    for document in ["docs/field-guide.md", "docs/field-guide/claims.md"] {
        let text = std::fs::read_to_string(root.join(document)).expect(document);
        for link in text.split("corpora/scenarios/").skip(1).filter_map(|rest| rest.split_once(".toml")) {
            linked.insert(link.0.to_string());
        }
    }
    assert_eq!(linked, names);
}

/// Every scenario by name.
pub fn scenarios() -> Vec<(String, Regression)> {
    let all = read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("corpora/scenarios")).expect("scenarios");
    assert!(all.len() >= 80, "the scenarios are gone: {} left", all.len());
    all
}
