//! What the text of `compute-sanitizer` means: whole, cut anywhere, and mixed with other output.

use std::collections::BTreeSet;

use snuffer::exec::diagnosis::Reports;
use snuffer::outcome::DeviceReports;

const MEMCHECK: &str = include_str!("../sanitizer/memcheck.txt");
const INITCHECK: &str = include_str!("../sanitizer/initcheck.txt");
const RACECHECK: &str = include_str!("../sanitizer/racecheck.txt");
const SYNCCHECK: &str = include_str!("../sanitizer/synccheck.txt");
/// What version 2025.3.1 (CUDA 13.0) printed of kernels in `simulator/tests/fail`, on an H200 on 2026-11-26.
const H200: &str = include_str!("../sanitizer/h200.txt");
const TEXTS: [&str; 5] = [MEMCHECK, INITCHECK, RACECHECK, SYNCCHECK, H200];

fn read(text: &str) -> DeviceReports {
    Reports::from_sanitizer(text, "no mark").0.device_reports(false)
}

/// Kind and place of each report.
fn found(text: &str) -> Vec<(String, String)> {
    read(text).reports.into_iter().map(|report| (report.kind.to_string(), report.place.to_string())).collect()
}

#[test]
fn each_tool_is_read_with_kind_and_place() {
    let expected: [&[(&str, &str)]; 5] = [
        &[
            ("out of bounds", "candle-kernels/src/indexing.cu:60"),
            ("misaligned", "candle-kernels/src/fill.cu:18"),
            ("out of window", "fast_sum_f32"),
            ("use after free", "candle-kernels/src/unary.cu:31"),
            ("invalid free", ""),
            ("leak", ""),
        ],
        &[("uninitialized read", "candle-kernels/src/cast.cu:41"), ("uninitialized read", "cudaMemcpy")],
        &[
            ("race", "candle-kernels/src/reduce.cu:141"),
            ("race", "softmax_f32"),
            ("race", "candle-kernels/src/sort.cu:44"),
        ],
        &[
            ("barrier", "candle-kernels/src/reduce.cu:79"),
            ("barrier", "candle-kernels/src/reduce.cu:142"),
            ("barrier", "__cuda_sm70_warpsync"),
        ],
        &[
            ("out of bounds", "k"),
            ("out of bounds", "src/kernels.cu:13"),
            ("out of window", "k"),
            ("uninitialized read", "src/kernels.cu:30"),
            ("race", "k"),
        ],
    ];
    for (text, expected) in TEXTS.into_iter().zip(expected) {
        let found = found(text);
        let found: Vec<(&str, &str)> = found.iter().map(|(kind, place)| (kind.as_str(), place.as_str())).collect();
        assert_eq!(found, expected, "{text}");
    }
    let first = &read(MEMCHECK).reports[0].message;
    assert!(first.contains("Address 0x7f4e83200010 is out of bounds; and is 1 bytes after"), "{first}");
    assert!(first.contains("Device Frame: is_u32_f32") && !first.contains("Host Frame"), "{first}");
}

#[test]
fn what_the_tool_left_out_is_a_fact() {
    let facts = read(MEMCHECK).facts;
    assert!(matches!(&facts[..], [fact] if fact.contains("824 errors were not printed")), "{facts:?}");
    let facts = read(RACECHECK).facts;
    assert!(matches!(&facts[..], [fact] if fact.contains("didn't track the launch")), "{facts:?}");
    let facts = read(&MEMCHECK.replace(" is misaligned", "")).facts;
    assert!(facts.iter().any(|fact| fact.contains("1 reports were incomplete")), "{facts:?}");
}

#[test]
fn no_prefix_gives_a_report_that_the_whole_text_does_not_have() {
    for text in TEXTS {
        let whole: BTreeSet<_> = found(text).into_iter().collect();
        let mut seen = 0;
        for end in (0..=text.len()).filter(|&end| text.is_char_boundary(end)) {
            let part = found(&text[..end]);
            assert!(part.len() >= seen, "a report is lost at byte {end}");
            seen = part.len();
            let invented = part.into_iter().find(|report| !whole.contains(report));
            assert!(invented.is_none(), "{invented:?} at byte {end} of\n{text}");
        }
        assert_eq!(seen, whole.len());
    }
}

/// Pseudorandom numbers below `bound` (a linear congruential generator with Knuth's constants).
fn random(state: &mut u64, bound: usize) -> usize {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    ((*state >> 33) as usize) % bound
}

#[test]
fn no_other_output_at_any_byte_makes_a_kind_or_a_place() {
    const OTHER: [&str; 6] =
        ["done\n", "7\n", "\n", "step 3 of 4 in a.cu:5\n", "=========", "\u{1b}[31mred\u{1b}[0m\r\n"];
    for (seed, text) in (0..).zip(TEXTS) {
        let whole: BTreeSet<_> = found(text).into_iter().collect();
        // At every byte one of them, and then several at once.
        for at in (0..text.len()).filter(|&at| text.is_char_boundary(at)) {
            for other in OTHER {
                let mixed = format!("{}{other}{}", &text[..at], &text[at..]);
                let invented = found(&mixed).into_iter().find(|report| !whole.contains(report));
                assert!(invented.is_none(), "{invented:?} with {other:?} at byte {at} of\n{text}");
            }
        }
        let mut state = seed;
        for _ in 0..2000 {
            let mut mixed = text.to_string();
            for _ in 0..=random(&mut state, 12) {
                let mut at = random(&mut state, mixed.len() + 1);
                while !mixed.is_char_boundary(at) {
                    at -= 1;
                }
                mixed.insert_str(at, OTHER[random(&mut state, OTHER.len())]);
            }
            let invented = found(&mixed).into_iter().find(|report| !whole.contains(report));
            assert!(invented.is_none(), "{invented:?} in\n{mixed}");
        }
    }
}

#[test]
fn interleaved_lines_of_two_tools_give_no_kind_and_no_place_of_neither() {
    for (seed, (one, other)) in (0..).zip(TEXTS.iter().flat_map(|one| TEXTS.iter().map(move |other| (one, other)))) {
        let both: Vec<_> = [found(one), found(other)].concat();
        let mut state = seed;
        for _ in 0..500 {
            let (mut left, mut right) = (one.lines().peekable(), other.lines().peekable());
            let mut mixed = String::new();
            while left.peek().is_some() || right.peek().is_some() {
                let turn = if random(&mut state, 2) == 0 { &mut left } else { &mut right };
                mixed.extend(turn.next().map(|line| format!("{line}\n")));
            }
            for (kind, place) in found(&mixed) {
                let known =
                    both.iter().any(|(known, _)| *known == kind) && both.iter().any(|(_, known)| *known == place);
                assert!(known, "{kind} at {place} in\n{mixed}");
            }
        }
    }
}

#[test]
fn colours_returns_and_repetitions_change_nothing_and_a_lost_prefix_is_no_report() {
    for text in TEXTS {
        let coloured = text.replace("=========", "\u{1b}[1;31m=========\u{1b}[0m").replace('\n', "\r\n");
        assert_eq!(found(&coloured), found(text));
        assert_eq!(found(&text.repeat(3000)), found(text));
        assert_eq!(found(&text.replace("=========", "")), []);
        assert_eq!(found(&text.replace("=========     ", "     ")), found(&text.replace("=========     ", "")));
    }
}
