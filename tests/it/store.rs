//! The store of findings survives damage and concurrent use.

use std::collections::BTreeMap;
use std::path::Path;

use snuffer::device::Device;
use snuffer::ops::canary;
use snuffer::oracle::{OracleName, Signature, Violation};
use snuffer::outcome::{Observation, Outcome, Phase};
use snuffer::store::{Finding, Origin, Reproduction, Store, Unchecked};

/// A finding that hangs.
pub fn finding(site: &str) -> Finding {
    let violation = Violation {
        oracle: OracleName::Contract,
        kind: "hang".into(),
        site: site.into(),
        device: Device::Cpu,
        detail: "expected Ok".into(),
    };
    Finding {
        signature: violation.signature("canary"),
        violation,
        promise: "a test".into(),
        reproduction: Reproduction { tries: 3, failed: 3, unchecked: Unchecked::Same },
        origin: Origin {
            versions: "a test".into(),
            hardware: BTreeMap::new(),
            seed: 1,
            index: 2,
            attempts: 3,
            minimal: true,
        },
        case: canary::case("hang"),
        observations: vec![Observation::new(Device::Cpu, Outcome::TimedOut(Phase::Forward))],
    }
}

fn open(folder: &Path) -> Store {
    Store::open(folder).expect("a store opens")
}

#[test]
fn a_finding_is_stored_once_and_read_back_unchanged() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = open(folder.path());
    let finding = finding("here");
    assert!(store.insert(&finding).expect("stored"));
    assert!(!store.insert(&finding).expect("known"));
    assert_eq!(store.get(&finding.signature.slug()).expect("readable"), Some(finding));
}

#[test]
fn a_damaged_file_is_reported_and_hides_nothing_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = open(folder.path());
    let (good, bad) = (finding("good"), finding("bad"));
    for finding in [&good, &bad] {
        store.insert(finding).expect("stored");
    }
    let file = store.folder(&bad.signature).join("finding.toml");
    std::fs::write(&file, "signature = 3").expect("written");
    let all = store.all().expect("readable");
    let broken: Vec<_> = all.iter().filter_map(|(_, finding)| finding.as_ref().err()).collect();
    assert_eq!((all.len(), broken.len()), (2, 1));
    assert!(format!("{:#}", broken[0]).contains("is damaged; delete its folder"));
    // Storing the finding again replaces the damaged file and keeps it under another name.
    assert!(store.insert(&bad).expect("stored again"));
    assert!(file.with_extension("damaged").exists());
}

#[test]
fn concurrent_hunts_store_each_finding_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let new: usize = std::thread::scope(|scope| {
        let insert =
            || (0..20).filter(|n| open(folder.path()).insert(&finding(&n.to_string())).expect("stored")).count();
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(insert)).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).sum()
    });
    assert_eq!(new, 20);
    assert!(open(folder.path()).all().expect("readable").iter().all(|(_, finding)| finding.is_ok()));
}

#[test]
fn a_signature_names_no_value_shape_or_device() {
    let Signature { op, oracle, kind, site } = finding("candle-core/src/conv.rs:46").signature;
    assert_eq!((op.as_str(), oracle.name(), kind.name()), ("canary", "contract", "hang"));
    assert_eq!(Signature { op, oracle, kind, site }.slug(), "canary--contract--hang--candle-core-src-conv.rs-46");
}
