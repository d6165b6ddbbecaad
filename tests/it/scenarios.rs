//! The scenarios of the field guide: the guide and the folder name the same ones.

use std::collections::BTreeSet;
use std::path::Path;

use crate::kept::scenarios;

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
