//! Files and arguments that somebody else made: endless, deep, in circles, or with commands for a terminal. Each is answered soon,
//! in a line, with the right code.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use snuffer::console::quoted;
use snuffer::store::{Counts, Log, Record, Store, Tally};

use crate::cli::{code, command, snuffer, text};
use crate::finding::finding;
use crate::history::{ask, nights, noon};

/// Runs snuffer with a case on standard input.
fn with_case(args: &[&str], case: &str) -> Output {
    let folder = tempfile::tempdir().expect("a folder");
    let mut process = command(folder.path(), args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("snuffer starts");
    process.stdin.take().expect("a pipe").write_all(case.as_bytes()).expect("written");
    process.wait_with_output().expect("it ends")
}

/// Fails with this code and a short message without control characters.
#[track_caller]
fn ends(output: &Output, expected: i32, message: &str) {
    let said = text(&output.stderr);
    assert_eq!(code(output), expected, "{said}");
    assert!(said.contains(message) && said.len() < 10_000, "{} bytes: {said}", said.len());
    assert!(!said.chars().any(|letter| letter.is_control() && letter != '\n'), "{said:?}");
}

#[test]
fn folders_in_circles_and_files_without_an_end_are_left_out() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["a", "b"] {
        symlink(".", folder.path().join(name)).expect("linked");
    }
    symlink("/dev/zero", folder.path().join("zero")).expect("linked");
    assert!(Command::new("mkfifo").arg(folder.path().join("pipe")).status().expect("mkfifo").success());
    let path = folder.path().to_str().expect("a path");
    ends(&snuffer(folder.path(), &["import", path]), 1, "no file has a case");
    ends(&snuffer(folder.path(), &["replay", "/dev/zero"]), 1, "it has more than 256 MiB");
}

#[test]
fn a_folder_of_sources_that_does_not_fit_into_memory_is_rejected() {
    let folder = tempfile::tempdir().expect("a folder");
    let candle = folder.path().join("candle/candle-core");
    fs::create_dir_all(candle.join("src")).expect("made");
    fs::write(candle.join("Cargo.toml"), "[package]\nname = 'candle-core'\nversion = '0.11.1'\n").expect("written");
    for (path, what) in [("kernels/unary.cu", "--kernels"), ("candle/candle-core/src/lib.rs", "--candle")] {
        let file = folder.path().join(path);
        fs::create_dir_all(file.parent().expect("a folder")).expect("made");
        // It has no blocks on the disk.
        fs::File::create(&file).and_then(|file| file.set_len(1 << 40)).expect("made");
        let named = folder.path().join(path.split('/').next().expect("a folder"));
        let args = ["hunt", what, named.to_str().expect("a path"), "--device", "cpu,sim:0", "--cases", "1"];
        ends(&snuffer(folder.path(), &args), 1, "its files have more than 256 MiB");
    }
}

#[test]
fn a_list_as_deep_as_a_command_line_can_be_is_a_mistake() {
    let deep = "[".repeat(50_000) + &"]".repeat(50_000);
    let folder = tempfile::tempdir().expect("a folder");
    ends(&snuffer(folder.path(), &["new", "loss.huber", "--delta", &deep]), 1, "loss.huber");
}

#[test]
fn a_name_of_a_megabyte_and_20_000_inputs_are_refused_at_once() {
    let long = format!("op = \"{}\"\n", "loss.".repeat(200_000));
    ends(&with_case(&["replay", "-"], &long), 1, "there is no op `loss.loss.");
    let mut many = String::from("op = \"tensor.exp\"\n");
    for number in 0..20_000 {
        let _ = write!(many, "[inputs.x{number}]\ndtype = \"f32\"\nshape = [1]\nvalues = {{ list = [0.0] }}\n");
    }
    ends(&with_case(&["replay", "-"], &many), 1, "tensor.exp has no input `x0`");
    let line = format!("op = {}\n", "1".repeat(1_000_000));
    ends(&with_case(&["replay", "-"], &line), 1, "…");
}

#[test]
fn a_terminal_obeys_no_text_of_a_case() {
    let case = "op = \"\\u001b]0;title\\u0007\\u001b[2J\\n::error::red\"\n";
    let output = with_case(&["replay", "-"], case);
    ends(&output, 1, r"\u001b]0;title\u0007\u001b[2J");
    assert!(!text(&output.stderr).contains("\n::"));
}

#[test]
fn a_cell_of_a_query_may_be_of_any_length() {
    let folder = tempfile::tempdir().expect("a folder");
    let [one, ..] = nights(folder.path());
    let sql = format!("SELECT '{}' AS long, 1 AS short", "a".repeat(90_000));
    let (code, shown, stderr) = ask(&["--store", &one, "--sql", &sql]);
    assert_eq!((code, shown.len() > 90_000), (Some(0), true), "{stderr}");
    let (_, shown, _) = ask(&["--store", &one, "--sql", "SELECT 9e999 AS much, -9e999 AS little"]);
    assert!(shown.contains("inf") && shown.contains("-inf"), "{shown}");
}

#[test]
fn a_query_that_cannot_run_is_a_mistake_of_whoever_wrote_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let [one, ..] = nights(folder.path());
    for (sql, message) in [("SELECT 1; SELECT 2", "write one query"), ("SELECT ?1", "write the values")] {
        let (code, _, stderr) = ask(&["--store", &one, "--sql", sql]);
        assert!(code == Some(1) && stderr.contains(message), "{code:?} {stderr}");
    }
}

#[test]
fn a_record_that_cannot_be_true_is_named_and_hides_nothing_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let [one, ..] = nights(folder.path());
    let store = Store::open(Path::new(&one)).expect("a store");
    let counts = Counts { cases: i64::MAX as u64, ..Counts::default() };
    let huge = Record { tally: Tally { total: counts, ..Tally::default() }, ..Record::default() };
    let late = (format!("{}-1-1", i64::MAX), Record::default());
    for (name, record) in [(format!("{}-7-1", noon(3)), huge), late] {
        Log::open(&store.campaigns(), &name).and_then(|mut log| log.save(&record)).expect("saved");
        let (code, shown, stderr) = ask(&["--store", &one, "--campaigns"]);
        assert!(code == Some(5) && stderr.contains("left out: ") && stderr.contains(&name), "{code:?} {stderr}");
        assert!(shown.contains("2026-01-01") && shown.contains("2026-01-02"), "{shown}");
        fs::remove_file(store.campaigns().join(format!("{name}.toml"))).expect("removed");
    }
}

#[test]
fn a_damaged_page_of_an_index_is_noticed_whatever_is_asked() {
    let folder = tempfile::tempdir().expect("a folder");
    let [one, ..] = nights(folder.path());
    assert_eq!(ask(&["--store", &one]).0, Some(0));
    let path = Path::new(&one).join("history.sqlite");
    let connection = rusqlite::Connection::open(&path).expect("a database");
    let ask_for = |query: &str| connection.query_row(query, [], |row| row.get::<_, i64>(0)).expect("a number") as usize;
    let page = ask_for("SELECT rootpage FROM sqlite_master WHERE name = 'counts_by_name'");
    let size = ask_for("PRAGMA page_size");
    drop(connection);
    let mut bytes = fs::read(&path).expect("readable");
    // The number of entries is in the page's head.
    bytes[(page - 1) * size + 4] = 0;
    fs::write(&path, bytes).expect("written");
    let (code, _, stderr) = ask(&["--store", &one, "--sql", "SELECT count(*) FROM campaigns"]);
    assert!(code == Some(5) && stderr.contains("is damaged"), "{code:?} {stderr}");
}

#[test]
fn a_merge_follows_no_link_of_a_store_and_takes_a_good_record_for_a_damaged_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let [mine, theirs] = ["mine", "theirs"].map(|name| Store::open(&folder.path().join(name)).expect("a store"));
    let secret = folder.path().join("secret");
    fs::write(&secret, "a secret").expect("written");
    for name in ["1-1-1", "2-1-1"] {
        let record = Record { next: 7, versions: "a test".into(), ..Record::default() };
        Log::open(&theirs.campaigns(), name).and_then(|mut log| log.save(&record)).expect("saved");
    }
    fs::create_dir_all(theirs.lost()).and_then(|()| fs::create_dir_all(mine.campaigns())).expect("made");
    symlink(&secret, theirs.lost().join("x.toml")).expect("linked");
    let list = theirs.campaigns().join("1-1-1.failures.jsonl");
    fs::remove_file(&list).and_then(|()| symlink(&secret, &list)).expect("linked");
    fs::write(mine.campaigns().join("2-1-1.toml"), "seed = true").expect("written");
    let [into, from] = ["mine", "theirs"].map(|name| folder.path().join(name).display().to_string());
    ends(&snuffer(folder.path(), &["merge", &from, "--into", &into]), 5, "is not a file of the store");
    assert!(!mine.lost().join("x.toml").exists() && !mine.campaigns().join("1-1-1.failures.jsonl").exists());
    let next: Vec<u64> = mine.records().expect("readable").iter().map(|record| record.next).collect();
    assert_eq!(next, [7], "the record whose list cannot be copied is left out");
    assert!(mine.campaigns().join("2-1-1.damaged").exists());
}

#[test]
fn what_a_damaged_store_lacks_is_named_and_shown_by_the_exit_code() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("store");
    let store = Store::open(&root).expect("a store");
    let name = store.insert(&finding("here")).expect("stored").expect("new");
    let counts = Counts { cases: 9, passed: 8, failed: 1, ..Counts::default() };
    let record = Record { tally: Tally { total: counts, ..Tally::default() }, ..Record::default() };
    Log::open(&store.campaigns(), "1700000000-1-1").and_then(|mut log| log.save(&record)).expect("saved");
    let linked = root.join("linked--to--nothing");
    fs::create_dir(&linked).and_then(|()| symlink("nowhere", linked.join("finding.toml"))).expect("linked");
    let [from, into, site] = ["store", "merged", "site"].map(|name| folder.path().join(name).display().to_string());
    for args in [
        &["merge", &from, "--into", &into][..],
        &["findings", "list"],
        &["findings", "summary"],
        &["findings", "export", "--format", "sarif"],
        &["findings", "export", "--format", "junit"],
        &["site", "--into", &site],
    ] {
        let output = snuffer(&root, args);
        ends(&output, 5, "linked--to--nothing");
        assert!(!output.stdout.is_empty(), "{args:?}: the rest is there");
    }
    assert!(Store::open(Path::new(&into)).expect("a store").get(&name).expect("readable").is_some());
}

#[test]
fn a_pipe_in_a_store_is_named_and_not_waited_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::open(folder.path()).expect("a store");
    let name = store.insert(&finding("here")).expect("stored").expect("new");
    let pipe = folder.path().join("canary--with--a--pipe");
    fs::create_dir(&pipe).expect("made");
    assert!(Command::new("mkfifo").arg(pipe.join("finding.toml")).status().expect("mkfifo").success());
    let output = snuffer(folder.path(), &["findings", "list"]);
    ends(&output, 5, "canary--with--a--pipe");
    assert!(text(&output.stdout).contains(&name), "{}", text(&output.stdout));
}

#[test]
fn an_import_that_leaves_a_file_out_ends_with_5() {
    let folder = tempfile::tempdir().expect("a folder");
    let cases = folder.path().join("cases");
    fs::create_dir(&cases).expect("made");
    fs::write(cases.join("good"), finding("here").case.to_text().replace("hang", "none")).expect("written");
    fs::write(cases.join("bad.toml"), "op = 1").expect("written");
    let output = snuffer(folder.path(), &["import", cases.to_str().expect("a path")]);
    ends(&output, 5, "left out: ");
    let shown = text(&output.stdout);
    assert!(shown.lines().last().is_some_and(|line| line.starts_with("exit code 5: ")), "{shown}");
}

#[test]
fn a_finding_in_a_file_is_replayed_by_its_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a finding.toml");
    fs::write(&path, toml::to_string(&finding("here")).expect("TOML")).expect("written");
    let output = snuffer(folder.path(), &["findings", "show", path.to_str().expect("a path")]);
    let shown = text(&output.stdout);
    assert!(shown.contains(&format!("replay {}", quoted(&path))), "{shown}");
}

#[test]
fn no_path_in_a_command_is_taken_for_an_option() {
    assert_eq!(quoted(Path::new("-dash")), "./-dash");
    assert_eq!(quoted(Path::new("-")), "-");
    assert_eq!(quoted(Path::new("--a b")), "'./--a b'");
}
