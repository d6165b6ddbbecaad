//! Coverage: counts add up, survive their text form, and a damaged line is reported.

use snuffer::coverage::{Coverage, Reached};

const ONE: &str = "module\tsrc/fill.cu\t24\nkernel\tsrc/fill.cu\tfill_u8\t2\t4,0,4\t8:4:0,9:1:3\n";

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
    both.merge(&read("module\tsrc/fill.cu\t24\nkernel\tsrc/fill.cu\tfill_u8\t1\t0,5,0\t8:0:7,9:0:0\n"));
    let expected = "module\tsrc/fill.cu\t24\nkernel\tsrc/fill.cu\tfill_u8\t3\t4,5,4\t8:4:7,9:1:3\n";
    assert_eq!(both.to_text(), expected);
    let reached = both.kernels.values().next().expect("a kernel").reached();
    assert_eq!(reached, Reached { blocks: 3, all_blocks: 3, edges: 4, all_edges: 4 });
}

#[test]
fn an_edge_that_was_not_taken_is_not_reached() {
    let reached = read(ONE).kernels.values().next().expect("a kernel").reached();
    assert_eq!(reached, Reached { blocks: 2, all_blocks: 3, edges: 3, all_edges: 4 });
}

#[test]
fn a_damaged_line_is_reported() {
    for line in ["kernel\tsrc/fill.cu\tfill_u8\tmany\t\t", "module\tsrc/fill.cu", "kernel\ta\tb\t1\t1\t8:1"] {
        let error = Coverage::default().read(line).expect_err(line);
        assert_eq!(error, format!("`{line}` is not a line of coverage"));
    }
}
