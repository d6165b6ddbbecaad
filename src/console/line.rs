//! A finding in lines no wider than the terminal.

use console::{Alignment, Style, Term, pad_str};

use crate::oracle::Rank;

/// How many columns a line may have if nothing says how many there are.
const USUAL: usize = 80;

/// How many columns a line has at least and at most: shorter ones say nothing, longer ones are hard to follow.
const COLUMNS: (usize, usize) = (40, 120);

/// The width of the first word of a line.
const WORD: usize = 7;

/// How many columns a line may have: the variable `COLUMNS`, or else the terminal decides.
pub fn width() -> usize {
    columns().unwrap_or(USUAL).clamp(COLUMNS.0, COLUMNS.1)
}

/// How many columns there are, if anything says it.
pub fn columns() -> Option<usize> {
    let variable = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    variable.or_else(|| Term::stdout().size_checked().map(|(_, columns)| usize::from(columns)))
}

/// The first `length` columns of `text`, for what is shown whole elsewhere.
pub fn shortened(text: &str, length: usize) -> String {
    console::truncate_str(text, length, "…").into_owned()
}

/// A finding: a word, what happens, and at the end the command that runs it again. What distinguishes two findings is never cut off.
pub fn finding(word: &str, style: &Style, sentence: &str, id: &str) -> String {
    let command = format!("replay {id}");
    let room = width() - WORD - command.len() - 2;
    let word = pad_str(word, WORD, Alignment::Left, None);
    let lines = wrapped(sentence, room).join(&format!("\n{:WORD$} ", ""));
    let last = lines.lines().last().map_or(0, console::measure_text_width);
    let end = if lines.contains('\n') { room + WORD + 1 } else { room };
    let gap = " ".repeat(end.saturating_sub(last) + 1);
    format!("{} {lines}{gap}{}", style.apply_to(word), Style::new().dim().apply_to(command))
}

/// The word of a rank, padded.
pub fn word(rank: Rank) -> String {
    style(rank).apply_to(pad_str(rank.name(), WORD, Alignment::Left, None)).to_string()
}

/// `text` in lines of at most `room` columns, if no word of it is longer.
pub fn wrapped(text: &str, room: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("one line at least");
        if line.is_empty() {
            line.push_str(word);
        } else if console::measure_text_width(line) + 1 + console::measure_text_width(word) <= room {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_string());
        }
    }
    lines
}

/// A rank and what it is of, in as many lines as that takes.
pub fn headed(rank: Rank, what: &str) -> String {
    let room = width() - WORD - 1;
    format!("{} {}", word(rank), wrapped(what, room).join(&format!("\n{:WORD$} ", "")))
}

/// What stands under the name of a finding or a regression: its rank, if it has one, and what is to say of it.
pub fn under_a_name(rank: Option<Rank>, what: &str) -> String {
    const INDENT: &str = "    ";
    let rank = rank.map_or_else(String::new, |rank| format!("{}, ", style(rank).apply_to(rank)));
    let text = wrapped(&format!("{rank}{what}"), width() - INDENT.len());
    format!("{INDENT}{}", text.join(&format!("\n{INDENT}")))
}

/// A text behind a label, such as `at        conv.rs`, in as many lines as it takes.
pub fn with_label(label: &str, text: &str) -> String {
    const LABEL: usize = 10;
    let indent = format!("\n{:LABEL$} ", "");
    let lines = text.lines().flat_map(|line| wrapped(line, width() - LABEL - 1));
    format!("{label:<LABEL$} {}", lines.collect::<Vec<_>>().join(&indent))
}

/// How the word of a rank looks on a terminal.
pub fn style(rank: Rank) -> Style {
    let style = Style::new();
    match rank {
        Rank::Memory => style.red().bold(),
        Rank::Wrong => style.magenta().bold(),
        Rank::Crash => style.yellow().bold(),
        Rank::Refusal => style.cyan(),
        Rank::Limit | Rank::Cost => style.dim(),
    }
}
