//! The table of tests by device in docs/testing.md.

use std::fmt::Write;

use snuffer::device::Device;

use crate::FILES;
use crate::place;
use crate::plan::{File, Run, Test, tests};

pub const TESTS: &[Test] = tests![Once: the_table_of_tests_by_device_is_up_to_date];

/// The lines before the table.
const START: &str = "<!-- The table: UPDATE_DOCS=1 cargo test --test devices docs -->\n";

fn the_table_of_tests_by_device_is_up_to_date() {
    let path = place::root().join("docs/testing.md");
    let text = std::fs::read_to_string(&path).expect("docs/testing.md");
    let (before, _) = text.split_once(START).expect("the start of the table");
    let expected = format!("{before}{START}\n{}", table());
    if std::env::var_os("UPDATE_DOCS").is_some() {
        return std::fs::write(path, expected).expect("writable");
    }
    assert_eq!(text, expected, "docs/testing.md is stale: UPDATE_DOCS=1 cargo test --test devices docs");
}

fn table() -> String {
    let mut table =
        "| tests | once | `cpu` | `sim:0` | `cuda:0` | without them nobody would notice |\n|---|---|---|---|---|---|\n"
            .to_string();
    for File { name, tests, misses } in FILES {
        let once = tests.iter().filter(|test| matches!(test.run, Run::Once(_))).count();
        let on = |device| tests.iter().filter(|test| test.run.is_on(device).is_some()).count();
        let counts = [once, on(Device::Cpu), on(Device::Sim(0)), on(Device::Cuda(0))];
        let counts = counts.map(|count| if count == 0 { "-".to_string() } else { count.to_string() });
        writeln!(table, "| `{name}` | {} | {misses} |", counts.join(" | ")).expect("text");
    }
    table
}
