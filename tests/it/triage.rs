//! Triage by group: findings of one cause are decided together, a decision can be undone, and a link is checked.

use snuffer::store::regression::read;
use snuffer::store::{Finding, Store};

use crate::finding::finding;
use crate::lifecycle::snuffer;

/// A folder with a store: a hang in two ops' one function, and one elsewhere.
fn stored() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::open(&folder.path().join("findings")).expect("a store");
    let function = "l_out (candle-core/src/conv.rs)";
    for (op, site) in [("tensor.conv1d", function), ("layer.conv1d", function), ("canary", "alone")] {
        let mut found: Finding = finding(site);
        found.signature.op = op.into();
        store.insert(&found).expect("stored");
    }
    folder
}

#[test]
fn findings_of_one_cause_are_decided_together() {
    let folder = stored();
    let (code, printed) = snuffer(folder.path(), &["triage"], "m\nwontfix\ntoo slow\n\ns\n");
    assert_eq!(code, Some(0), "{printed}");
    for expected in
        ["3 new findings in 2 groups", "== group 1 of 2", "in l_out", "likely the same cause:", "1 new finding left"]
    {
        assert!(printed.contains(expected), "{expected} is not in {printed}");
    }
    let kept = read(&folder.path().join("corpora/regressions")).expect("regressions");
    assert!(kept.len() == 2 && kept.iter().all(|(_, kept)| kept.reason.as_deref() == Some("too slow")), "{kept:?}");
}

#[test]
fn a_decision_is_undone_and_made_again() {
    let folder = stored();
    // Kept, taken back, each alone: the first is filed, the others are skipped. There is nothing before the first.
    let typed = "u\nk\n\nu\ne\nf\nhttps://example.org/1\n\ns\ns\n";
    let (code, printed) = snuffer(folder.path(), &["triage"], typed);
    assert_eq!(code, Some(0), "{printed}");
    for expected in
        ["there is nothing to undo", "undone: 2 regressions taken back", "== group 1 of 3", "2 new findings left"]
    {
        assert!(printed.contains(expected), "{expected} is not in {printed}");
    }
    let kept = read(&folder.path().join("corpora/regressions")).expect("regressions");
    assert_eq!(kept.len(), 1, "{kept:?}");
    let folders = std::fs::read_dir(folder.path().join("corpora/regressions")).expect("readable").count();
    assert_eq!(folders, 1, "no empty folder is left");
}

#[test]
fn a_link_is_the_address_of_a_page() {
    let folder = stored();
    let (_, printed) = snuffer(folder.path(), &["triage"], "f\n12\nhttps://example.org/1\n\nq\n");
    assert!(printed.contains("`12` is not a link; paste one that begins with https://"), "{printed}");
    let kept = read(&folder.path().join("corpora/regressions")).expect("regressions");
    assert!(kept.iter().all(|(_, kept)| kept.upstream.as_deref() == Some("https://example.org/1")), "{kept:?}");
    let promote = ["findings", "promote", "alone", "--title", "It hangs", "--status", "filed", "--upstream"];
    for wrong in ["12", "ftp://example.org/1", "https://", "https://example", "https://exa mple.org"] {
        let (code, printed) = snuffer(folder.path(), &[&promote[..], &[wrong]].concat(), "");
        assert!(code == Some(1) && printed.contains("is not a link"), "{wrong}: {printed}");
    }
}
