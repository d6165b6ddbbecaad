//! The store of findings survives damage and concurrent use.

use std::path::Path;

use snuffer::exec::EditedKernels;
use snuffer::oracle::Signature;
use snuffer::store::{IsRunning, Log, Record, Store};

use crate::finding::finding;

fn open(folder: &Path) -> Store {
    Store::open(folder).expect("a store opens")
}

#[test]
fn a_finding_is_stored_once_and_read_back_unchanged() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = open(folder.path());
    let finding = finding("here");
    assert_eq!(store.insert(&finding).expect("stored"), Some(finding.signature.slug()));
    assert_eq!(store.insert(&finding).expect("known"), None);
    assert_eq!(store.get(&finding.signature.slug()).expect("readable"), Some(finding));
}

#[test]
fn a_finding_of_other_kernels_is_not_known_and_gives_way() {
    let folder = tempfile::tempdir().expect("a folder");
    let (store, mut finding) = (open(folder.path()), finding("here"));
    let edited = |digest: &str| EditedKernels {
        sources: "candle".into(),
        files: vec!["reduce.cu".into()],
        digest: digest.into(),
        ..EditedKernels::default()
    };
    let name = Some(finding.signature.slug());
    for kernels in [None, Some(edited("1")), Some(edited("2")), None] {
        assert_eq!(store.known(&finding.signature, None, kernels.as_ref()).expect("readable"), None, "{kernels:?}");
        finding.origin.kernels = kernels;
        let kernels = finding.origin.kernels.as_ref();
        assert_eq!(store.insert(&finding).expect("stored"), name);
        assert_eq!(store.insert(&finding).expect("known"), None);
        let known = store.known(&finding.signature, None, kernels).expect("readable");
        assert_eq!(known.map(|(name, _)| name), name);
        assert_eq!(store.get(&finding.signature.slug()).expect("readable").as_ref(), Some(&finding));
    }
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
    assert!(store.insert(&bad).expect("stored again").is_some());
    assert!(file.with_extension("damaged").exists());
    // So does the next one, which gets a name of its own.
    std::fs::write(&file, "").expect("written");
    assert!(store.insert(&bad).expect("stored again").is_some());
    assert_eq!(std::fs::read_to_string(file.with_extension("damaged")).expect("kept"), "signature = 3");
    assert!(file.with_extension("damaged-2").exists());
}

#[test]
fn concurrent_hunts_store_each_finding_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let new: usize = std::thread::scope(|scope| {
        let insert =
            || (0..20).filter_map(|n| open(folder.path()).insert(&finding(&n.to_string())).expect("stored")).count();
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

#[test]
fn signatures_that_share_a_name_are_two_findings() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = open(folder.path());
    // A name is in small letters and has no signs; a long one is cut.
    let long = "x".repeat(400);
    let sites = ["Add<f32>", "add f32", &format!("{long}1"), &format!("{long}2")];
    let findings = sites.map(finding);
    let names = findings.each_ref().map(|finding| store.insert(finding).expect("stored").expect("new"));
    for (name, finding) in names.iter().zip(&findings) {
        assert_eq!(store.name(&finding.signature).as_ref(), Some(name));
        assert_eq!(store.get(name).expect("readable").as_ref(), Some(finding));
        assert_eq!(store.insert(finding).expect("known"), None);
        assert!(name.len() < 255, "{name}");
    }
    assert_eq!(names[0], "canary--contract--hang--add-f32");
    assert!(names[1].starts_with("canary--contract--hang--add-f32--"), "{}", names[1]);
    assert_eq!(store.all().expect("readable").len(), 4);
}

#[test]
fn no_signature_leads_out_of_the_store() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("a/store");
    let store = open(&root);
    for op in ["..", "../..", "/etc", ".", "", "a/../..", "..\\..", "\0"] {
        let mut found = finding("..");
        found.signature.op = op.into();
        let name = store.insert(&found).expect("stored").expect("new");
        let file = root.join(&name).join("finding.toml").canonicalize().expect("there");
        assert_eq!(file.parent().and_then(Path::parent), root.canonicalize().ok().as_deref(), "{name}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).expect("readable").count(), 1);
}

#[test]
fn a_finding_in_the_folder_of_another_is_damage() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = open(folder.path());
    let name = store.insert(&finding("here")).expect("stored").expect("new");
    std::fs::rename(folder.path().join(&name), folder.path().join("moved")).expect("moved");
    let problem = format!("{:#}", store.get("moved").expect_err("another name"));
    assert!(problem.contains("it holds another finding, canary: hang (contract), here"), "{problem}");
}

#[test]
fn merging_keeps_the_earlier_finding_and_the_record_that_is_further() {
    let folder = tempfile::tempdir().expect("a folder");
    let [mine, theirs] = ["mine", "theirs"].map(|name| open(&folder.path().join(name)));
    let at = |index: u64, site: &str| {
        let mut found = finding(site);
        found.origin.index = index;
        found
    };
    for (store, found) in [(&mine, at(5, "a")), (&mine, at(1, "b")), (&theirs, at(3, "a")), (&theirs, at(3, "b"))] {
        store.insert(&found).expect("stored");
    }
    let save = |store: &Store, name: &str, next: u64| {
        let record = Record { next, versions: "a test".into(), ..Record::default() };
        Log::open(&store.campaigns(), name).and_then(|mut log| log.save(&record)).expect("saved");
    };
    for (store, name, next) in
        [(&mine, "1-1-1", 10), (&theirs, "1-1-1", 20), (&mine, "2-1-1", 20), (&theirs, "2-1-1", 10)]
    {
        save(store, name, next);
    }
    save(&theirs, "3-1-1", 1);
    std::fs::write(theirs.campaigns().join("4-1-1.toml"), "seed = true").expect("written");
    let merged = mine.merge(&theirs).expect("merged");
    assert_eq!((merged.findings, merged.new, merged.campaigns), (2, 0, 1));
    assert!(merged.damaged.len() == 1 && merged.damaged[0].contains("4-1-1.toml is damaged"), "{:?}", merged.damaged);
    let index =
        |site: &str| mine.get(&finding(site).signature.slug()).expect("readable").map(|found| found.origin.index);
    assert_eq!((index("a"), index("b")), (Some(3), Some(1)));
    let next: Vec<u64> = mine.records().expect("readable").iter().map(|record| record.next).collect();
    assert_eq!(next, [20, 20, 1], "a damaged record is not taken over");
}

#[test]
fn the_last_campaign_is_the_one_that_began_last() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, seed) in [("1000-1-1", 1), ("999-2-1", 2)] {
        let record = Record { seed, versions: "a test".into(), ..Record::default() };
        Log::open(folder.path(), name).and_then(|mut log| log.save(&record)).expect("saved");
    }
    let (name, record) = Record::latest(folder.path()).expect("readable").expect("a campaign");
    assert_eq!((name.as_str(), record.seed), ("1000-1-1", 1), "the other file was written later");
}

#[test]
fn one_process_at_a_time_runs_a_campaign() {
    let folder = tempfile::tempdir().expect("a folder");
    let first = Log::open(folder.path(), "1-1-1").expect("free");
    let second = Log::open(folder.path(), "1-1-1").expect_err("taken");
    assert!(second.is::<IsRunning>(), "{second}");
    Log::open(folder.path(), "1-2-1").expect("another campaign");
    drop(first);
    Log::open(folder.path(), "1-1-1").expect("free again");
}
