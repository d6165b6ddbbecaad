//! `snuffer site`: it follows its store and leaves other files alone.

use std::path::Path;
use std::process::{Command, Output};

use snuffer::store::Store;
use snuffer::tensor::DType;

use crate::site::{contents, marks};

fn run(store: &Path, into: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_snuffer"));
    command.arg("site").arg("--store").arg(store).arg("--into").arg(into);
    command.current_dir(env!("CARGO_MANIFEST_DIR")).output().expect("snuffer starts")
}

#[test]
fn a_site_follows_its_store_and_leaves_other_files_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let (store_folder, into) = (folder.path().join("store"), folder.path().join("site"));
    let store = Store::open(&store_folder).expect("a store opens");
    for (_, finding) in &contents().findings {
        store.insert(finding).expect("stored");
    }
    let output = run(&store_folder, &into);
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(stdout, format!("9 pages: {}\n", into.join("index.html").display()));

    let (gone, finding) = &contents().findings[0];
    let page = into.join(format!("finding/{gone}.html"));
    std::fs::write(into.join("finding/mine.html"), "mine").expect("written");
    std::fs::write(store.folder(&finding.signature).join("finding.toml"), "signature = 3").expect("written");
    assert!(page.exists());
    let output = run(&store_folder, &into);
    assert_eq!(output.status.code(), Some(5), "a damaged finding is a harness failure");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(stderr.lines().count() == 1 && stderr.contains(gone.as_str()) && stderr.contains("is damaged"), "{stderr}");
    assert!(!page.exists() && into.join("finding/mine.html").exists());
}

#[test]
fn only_dtypes_that_a_hunt_ran_are_tried() {
    let folder = tempfile::tempdir().expect("a folder");
    let (store, into) = (folder.path().join("store"), folder.path().join("site"));
    let mut hunt = Command::new(env!("CARGO_BIN_EXE_snuffer"));
    // An op without inputs: a param gives the dtype.
    hunt.args(["hunt", "--ops", "create.zeros", "--device", "cpu", "--mode", "valid", "--cases", "200", "--seed", "1"]);
    assert_eq!(hunt.arg("--store").arg(&store).output().expect("snuffer starts").status.code(), Some(0));
    assert_eq!(run(&store, &into).status.code(), Some(0));
    let index = std::fs::read_to_string(into.join("index.html")).expect("readable");
    let of = |op: &str, mark: &str| marks(&index, op).iter().filter(|cell| **cell == mark).count();
    assert_eq!((of("create.zeros", "clean"), of("create.zeros", "untried")), (DType::ALL.len(), 0));
    assert_eq!(of("create.ones", "clean"), 0);
}

#[test]
fn a_folder_with_other_files_is_left_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let (store, into) = (folder.path().join("store"), folder.path().join("mine"));
    std::fs::create_dir_all(&store).and_then(|()| std::fs::create_dir_all(&into)).expect("folders");
    std::fs::write(into.join("index.html"), "mine").expect("written");
    let output = run(&store, &into);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("has files that are not a site"));
    assert_eq!(std::fs::read_to_string(into.join("index.html")).expect("readable"), "mine");
}
