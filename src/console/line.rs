//! A finding in one line, no wider than the terminal.

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
    let variable = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let terminal = || Term::stdout().size_checked().map(|(_, columns)| usize::from(columns));
    variable.or_else(terminal).unwrap_or(USUAL).clamp(COLUMNS.0, COLUMNS.1)
}

/// `text` without what does not fit into `width` columns.
pub fn cut(text: &str, width: usize) -> String {
    console::truncate_str(text, width, "…").into_owned()
}

/// A finding in one line: a word, what happens, and the command that runs it again.
pub fn finding(word: &str, style: &Style, sentence: &str, id: &str) -> String {
    let command = format!("replay {id}");
    let room = width() - WORD - command.len() - 2;
    let word = pad_str(word, WORD, Alignment::Left, None);
    let sentence = pad_str(sentence, room, Alignment::Left, Some("…"));
    format!("{} {sentence} {}", style.apply_to(word), Style::new().dim().apply_to(command))
}

/// A rank and what it is of, in a line.
pub fn headed(rank: Rank, what: &str) -> String {
    let word = pad_str(rank.name(), WORD, Alignment::Left, None);
    format!("{} {}", style(rank).apply_to(word), cut(what, width() - WORD - 1))
}

/// The line under the name of a finding: its rank and what is to say of it.
pub fn under_a_name(rank: Rank, what: &str) -> String {
    const INDENT: &str = "    ";
    let room = width() - INDENT.len() - rank.name().len() - 2;
    format!("{INDENT}{}, {}", style(rank).apply_to(rank), cut(what, room))
}

/// How the word of a rank looks on a terminal.
pub fn style(rank: Rank) -> Style {
    let style = Style::new();
    match rank {
        Rank::Memory => style.red().bold(),
        Rank::Wrong => style.magenta().bold(),
        Rank::Crash => style.yellow().bold(),
        Rank::Refusal => style.cyan(),
        Rank::Limit => style.dim(),
    }
}
