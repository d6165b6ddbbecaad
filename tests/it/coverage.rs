//! Coverage: counts add up, survive their text form, and a damaged line is reported. `snuffer coverage` says whose it shows.

use std::process::Command;

use snuffer::coverage::{Coverage, Reached};
use snuffer::store::{Log, Record, Store};

const ONE: &str = "loaded\tsrc/fill.cu\tcopy_u8,fill_u8\nkernel\tsrc/fill.cu\tfill_u8\t2\t4,0,4\t8:4:0,9:1:3\n";

fn read(text: &str) -> Coverage {
    let mut coverage = Coverage::default();
    coverage.read(text).expect("coverage");
    coverage
}

#[test]
fn counts_survive_their_text_form() {
    assert_eq!(read(ONE).to_text(), ONE);
}

#[test]
fn counts_of_two_runs_add_up() {
    let mut both = read(ONE);
    both.merge(&read("loaded\tsrc/fill.cu\tcopy_u8,fill_u8\nkernel\tsrc/fill.cu\tfill_u8\t1\t0,5,0\t8:0:7,9:0:0\n"));
    let expected = "loaded\tsrc/fill.cu\tcopy_u8,fill_u8\nkernel\tsrc/fill.cu\tfill_u8\t3\t4,5,4\t8:4:7,9:1:3\n";
    assert_eq!(both.to_text(), expected);
    let reached = both.kernels.values().next().expect("a kernel").reached();
    assert_eq!(reached, Reached { blocks: 3, all_blocks: 3, edges: 4, all_edges: 4 });
}

#[test]
fn kernels_of_modules_that_share_a_header_are_one_set() {
    let module = |names: &str, launched: &str| {
        format!("loaded\tsrc/gguf.cuh\t{names}\nkernel\tsrc/gguf.cuh\t{launched}\t1\t1\t\n")
    };
    let mut all = read(&(module("a,b,c", "a") + &module("c,d", "d")));
    all.merge(&read(&module("c,e", "e")));
    assert_eq!((all.loaded["src/gguf.cuh"].len(), all.kernels.len()), (5, 3));
}

#[test]
fn an_edge_that_was_not_taken_is_not_reached() {
    let reached = read(ONE).kernels.values().next().expect("a kernel").reached();
    assert_eq!(reached, Reached { blocks: 2, all_blocks: 3, edges: 3, all_edges: 4 });
}

#[test]
fn a_damaged_line_is_reported() {
    for line in ["kernel\tsrc/fill.cu\tfill_u8\tmany\t\t", "loaded\tsrc/fill.cu", "kernel\ta\tb\t1\t1\t8:1"] {
        let error = Coverage::default().read(line).expect_err(line);
        assert_eq!(error, format!("`{line}` is not a line of coverage"));
    }
}

#[test]
fn the_table_names_the_campaign_and_counts_its_kernels() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::open(folder.path()).expect("a store opens");
    let mut log = Log::open(&store.campaigns(), "1-1-1").expect("a log");
    log.save(&Record::default()).and_then(|()| log.save_coverage(read(ONE))).expect("saved");
    let mut command = Command::new(env!("CARGO_BIN_EXE_snuffer"));
    let output = command.arg("coverage").arg("--store").arg(folder.path()).output().expect("snuffer starts");
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(shown.starts_with("candle's kernels that campaign 1-1-1 reached\n\nsource file "), "{shown}");
    let row = shown.lines().find(|line| line.starts_with("src/fill.cu")).expect("a row");
    assert_eq!(row.split_whitespace().collect::<Vec<_>>(), ["src/fill.cu", "1/2", "2/3", "3/4"]);
}
