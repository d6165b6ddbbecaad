//! Damage to a store: a file is cut off, changed in a bit or replaced. It is named in one line, and everything else is intact.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use snuffer::coverage::Coverage;
use snuffer::store::history::{Filter, History};
use snuffer::store::regression::{self, Regression};
use snuffer::store::{Finding, Log, NotPassed, Record, Store, read_coverage};

use crate::finding::finding;
use crate::mutate::damaged;

/// How many damages a test makes; the variable asks for more.
fn times() -> u64 {
    let variable = std::env::var("SNUFFER_DAMAGES").ok();
    variable.map_or(10_000, |times| times.parse().expect("SNUFFER_DAMAGES is a number"))
}

/// A store with two of everything, and what is in it.
struct Whole {
    folder: tempfile::TempDir,
    store: Store,
    findings: BTreeMap<String, Finding>,
    records: BTreeMap<String, Record>,
    coverage: Coverage,
}

const CAMPAIGNS: [&str; 2] = ["1700000000-1-1", "1700000001-2-1"];

fn whole() -> Whole {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::open(&folder.path().join("store")).expect("a store");
    let mut findings = BTreeMap::new();
    for site in ["here", "there"] {
        let finding = finding(site);
        findings.insert(store.insert(&finding).expect("stored").expect("new"), finding);
    }
    let mut coverage = Coverage::default();
    coverage.read("loaded\ta.cu\tj,k\nkernel\ta.cu\tk\t3\t1,0\t7:1:0\n").expect("coverage");
    let mut records = BTreeMap::new();
    for (name, seed) in CAMPAIGNS.into_iter().zip(1..) {
        let record = Record { versions: "a test".into(), seed, ops: vec!["canary".into()], ..Record::default() };
        let mut log = Log::open(&store.campaigns(), name).expect("a log");
        log.failure(1, "canary", NotPassed::Fail, "why")
            .and_then(|()| log.failure(2, "canary", NotPassed::Skip, "why"))
            .expect("noted");
        log.save(&record).and_then(|()| log.save_coverage(coverage.clone())).expect("saved");
        records.insert(name.to_string(), record);
    }
    for title in ["kept", "also-kept"] {
        let regression = Regression { title: title.into(), ..Regression::of(&finding(title)) };
        let path = regression::path(&folder.path().join("known"), &format!("canary/{title}"));
        fs::create_dir_all(path.parent().expect("a folder"))
            .and_then(|()| fs::write(path, regression.to_text()))
            .expect("kept");
    }
    Whole { folder, store, findings, records, coverage }
}

/// The files below `folder`, in order.
fn files(folder: &Path) -> Vec<PathBuf> {
    let files =
        walkdir::WalkDir::new(folder).sort_by_file_name().into_iter().map(|entry| entry.expect("readable").into_path());
    files.filter(|path| path.is_file() && !path.ends_with(".lock")).collect()
}

/// An error names the file in its only line.
fn names_the_file(problem: &anyhow::Error, path: &Path) {
    let shown = format!("{problem:#}");
    assert!(shown.lines().count() == 1 && shown.contains(&path.display().to_string()), "{}: {shown}", path.display());
}

impl Whole {
    /// Everything is read as it was written, except the file at `path`, which is read so or named in an error.
    fn check(&self, path: &Path) {
        let is_damaged = |file: &Path| file == path;
        let all = self.store.all().expect("readable");
        assert_eq!(all.len(), self.findings.len());
        for (name, read) in all {
            match read {
                Ok(finding) => assert_eq!(finding, self.findings[&name], "{}", path.display()),
                Err(problem) => {
                    assert!(is_damaged(&self.store.folder(&self.findings[&name].signature).join("finding.toml")));
                    names_the_file(&problem, path);
                }
            }
        }
        for (name, read) in self.store.named_records().expect("readable") {
            match read {
                Ok(record) => assert_eq!(record, self.records[&name], "{}", path.display()),
                Err(problem) => {
                    assert!(is_damaged(&self.store.campaigns().join(format!("{name}.toml"))));
                    names_the_file(&problem, path);
                }
            }
        }
        for name in CAMPAIGNS {
            let (file, mut coverage) = (self.store.campaigns().join(format!("{name}.coverage")), Coverage::default());
            match read_coverage(&file, &mut coverage) {
                Ok(()) => assert_eq!(coverage, self.coverage, "{}", path.display()),
                Err(problem) => {
                    assert!(is_damaged(&file));
                    names_the_file(&problem, path);
                }
            }
        }
        // People edit regressions, so these files have no checksum, and an error may show the line.
        if let Err(problem) = regression::read(&self.folder.path().join("known")) {
            let shown = format!("{problem:#}");
            let first = shown.lines().next().unwrap_or_default();
            assert!(first.contains(&path.display().to_string()), "{}: {shown}", path.display());
        }
    }
}

#[test]
fn a_damaged_file_of_a_store_is_named_and_nothing_else_is_lost() {
    let whole = whole();
    let files = files(whole.folder.path());
    assert_eq!(files.len(), 2 + 2 * 3 + 2, "findings; records, lists and coverage; regressions: {files:?}");
    let contents: Vec<Vec<u8>> = files.iter().map(|path| fs::read(path).expect("readable")).collect();
    let mut rng = Pcg64Mcg::seed_from_u64(11);
    let mut changed = 0;
    for _ in 0..times() {
        let chosen = rng.next_u64() as usize % files.len();
        let (path, content) = (&files[chosen], &contents[chosen]);
        let damaged = damaged(&mut rng, content, &contents);
        fs::write(path, &damaged).expect("written");
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            // What a list has of whole lines stays, whatever they say.
            let name = path.file_name().expect("a name").to_string_lossy().replace(".failures.jsonl", "");
            drop(Log::open(&whole.store.campaigns(), &name).expect("a log"));
            let whole_lines = damaged.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            assert_eq!(fs::read(path).expect("readable"), damaged[..whole_lines]);
        }
        whole.check(path);
        changed += usize::from(damaged != *content);
        fs::write(path, content).expect("written");
    }
    assert!(changed as u64 > times() / 2, "only {changed} damages");
}

#[test]
fn a_damaged_history_is_named_in_one_line() {
    let whole = whole();
    let (root, path) = (whole.folder.path().join("store"), whole.folder.path().join("history.sqlite"));
    drop(History::open(&path).map(|mut history| history.add(&root, |_| None).expect("read")).expect("a history"));
    let content = fs::read(&path).expect("readable");
    let others = [fs::read(files(&root)[0].clone()).expect("readable")];
    let mut rng = Pcg64Mcg::seed_from_u64(12);
    let mut named = 0;
    for _ in 0..times() / 20 {
        fs::write(&path, damaged(&mut rng, &content, &others)).expect("written");
        let ask = || -> anyhow::Result<()> {
            History::open(&path)?.add(&root, |_| None)?;
            let history = History::read_only(&path)?;
            history.signatures(&Filter::default())?;
            history.campaigns(None)?;
            Ok(())
        };
        if let Err(problem) = ask() {
            names_the_file(&problem, &path);
            named += 1;
        }
        let _ = fs::remove_file(path.with_extension("sqlite-journal"));
    }
    assert!(named > times() / 100, "only {named} of {} damages were noticed", times() / 20);
}

#[test]
fn a_file_of_an_older_build_has_no_checksum_and_is_read() {
    let whole = whole();
    for path in files(&whole.folder.path().join("store")) {
        let text = fs::read_to_string(&path).expect("text");
        if let Some(content) = text.strip_prefix("# checksum ").and_then(|rest| rest.split_once('\n')) {
            fs::write(&path, content.1).expect("written");
        }
    }
    whole.check(Path::new("none"));
}
