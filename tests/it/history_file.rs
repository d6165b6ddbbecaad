//! The file of a history: damage, foreign files, and concurrent processes.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use crate::history::{answer, ask, command, nights, noon};

#[test]
fn an_unusable_file_is_reported_in_one_line_with_advice() {
    let folder = tempfile::tempdir().expect("a folder");
    let [one, ..] = nights(folder.path());
    let file = |name: &str| folder.path().join(name).to_str().expect("a path").to_string();
    fs::write(file("damaged"), "SQLite format 3\0 and no more of it than that".repeat(200)).expect("written");
    fs::write(file("text"), "a text that is much too long to be the beginning of a database, and so on".repeat(9))
        .expect("written");
    let foreign = rusqlite::Connection::open(file("foreign")).expect("a database");
    foreign.execute_batch("CREATE TABLE bookmarks (url TEXT)").expect("made");
    answer(&["--store", &one, "--history", &file("future")]);
    let future = rusqlite::Connection::open(file("future")).expect("a database");
    future.pragma_update(None, "user_version", 99).expect("written");
    for (name, code, message) in [
        ("damaged", 5, "is damaged"),
        ("text", 5, "delete it, and it is rebuilt"),
        ("foreign", 5, "is a database, but not a history"),
        ("future", 5, "is a history of version 99, but this build of snuffer supports 3"),
        ("no/such/folder", 5, "`--history FILE` keeps the history elsewhere"),
    ] {
        let (exit, _, shown) = ask(&["--store", &one, "--history", &file(name)]);
        assert!(exit == Some(code) && shown.contains(message) && shown.contains(name), "{name}: {exit:?} {shown}");
        assert_eq!(shown.lines().count(), 1, "{shown}");
    }
    for (args, message) in [
        (&["--history", "no-such-file"][..], "there is no history at no-such-file"),
        (&["--store", "no-such-store"], "there is no store at no-such-store"),
        (&["--store", &one, "--store", "two"], "several stores need a history of their own: add `--history FILE`"),
        (&["--store", &one, "--since", "soon"], "`soon` is not a date; write `2026-11-21` or `30d`"),
    ] {
        let (code, _, shown) = ask(args);
        assert!(code == Some(1) && shown.contains(message), "{args:?}: {code:?} {shown}");
    }
}

#[test]
fn a_history_with_a_flipped_bit_gives_no_answer() {
    let folder = tempfile::tempdir().expect("a folder");
    let [one, ..] = nights(folder.path());
    let file = folder.path().join("history");
    let args = ["--history", file.to_str().expect("a path")];
    answer(&[&["--store", one.as_str()][..], &args].concat());
    let whole = answer(&args);
    let bytes = fs::read(&file).expect("read");
    let (mut refused, mut unused) = (0, 0);
    // The header counts changes; a bit that does not matter to `SQLite`, such as in a free block, may be either.
    for at in (100..bytes.len()).step_by(bytes.len() / 100) {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1 << (at % 8);
        fs::write(&file, flipped).expect("written");
        match ask(&[&args[..], &["--json"]].concat()) {
            (Some(5), _, shown) => {
                assert!(shown.contains("delete it, and it is rebuilt"), "{at}: {shown}");
                refused += 1;
            }
            (Some(0), shown, _) => {
                assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).ok(), Some(whole.clone()), "byte {at}");
                unused += 1;
            }
            (code, _, shown) => panic!("byte {at}: {code:?} {shown}"),
        }
    }
    assert!(refused > 5, "{refused} refused, {unused} without an effect");
}

#[test]
fn a_damaged_record_is_reported_and_hides_nothing_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let [one, ..] = nights(folder.path());
    let damaged = Path::new(&one).join("campaigns").join(format!("{}-1-1.toml", noon(1)));
    fs::write(&damaged, "seed = true").expect("written");
    let (code, shown, stderr) = ask(&["--store", &one]);
    assert_eq!(code, Some(5));
    assert!(stderr.starts_with("left out: ") && stderr.contains("is damaged; delete it"), "{stderr}");
    assert!(shown.contains("2026-01-02 12:00") && !shown.contains("2026-01-01"), "{shown}");
}

#[test]
fn concurrent_processes_read_everything_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let [one, two, all] = nights(folder.path());
    let start = |store: &str| {
        let mut command = command(&["--store", store, "--history", &all, "--campaigns"]);
        command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("snuffer starts")
    };
    let running: Vec<_> = [&one, &two].into_iter().cycle().take(8).map(|store| start(store)).collect();
    for process in running {
        let output = process.wait_with_output().expect("ended");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let counted = answer(&["--history", &all, "--sql", "SELECT count(*), sum(cases) FROM campaigns"]);
    assert_eq!(counted["table"]["rows"], serde_json::json!([[4, 4000]]));
}

#[test]
fn a_history_of_version_1_learns_of_causes() {
    let folder = tempfile::tempdir().expect("a folder");
    let [one, two, all] = nights(folder.path());
    let args = ["--store", &one, "--store", &two, "--history", &all, "--causes"];
    let now = answer(&args);
    assert_eq!(now["causes"].as_array().map(Vec::len), Some(1), "{now}");
    let old = rusqlite::Connection::open(&all).expect("a database");
    let back = "DROP VIEW causes; DROP TABLE seal; ALTER TABLE findings DROP COLUMN cause; PRAGMA user_version = 1";
    old.execute_batch(back).expect("as version 1 was");
    let (code, _, shown) = ask(&["--history", &all, "--causes"]);
    assert!(code == Some(5) && shown.contains("is a history of version 1: name a store with `--store`"), "{shown}");
    assert_eq!(answer(&args), now);
}
