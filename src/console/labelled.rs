//! Text whose lines begin with a label, as `snuffer replay` prints it, in lines no wider than the terminal.

use console::style;

use super::line::{columns, width, wrapped};

/// The width of a label and the gap behind it.
const LABEL: usize = 10;

/// `text` for the terminal: labels stand out, and what does not fit continues below its line, behind the labels. Where nothing says how
/// wide lines may be, they are as they were, for programs that read them.
pub fn labelled(text: &str) -> String {
    if columns().is_none() {
        return text.to_string();
    }
    text.lines().map(|line| fitted(line) + "\n").collect()
}

fn fitted(line: &str) -> String {
    // A line of a case has no gap of two columns there.
    let Some((label, rest)) = line.split_at_checked(LABEL).filter(|(label, _)| is_label(label)) else {
        return line.to_string();
    };
    let room = width() - LABEL;
    let rest = if console::measure_text_width(rest) <= room {
        rest.to_string()
    } else {
        wrapped(rest, room).join(&format!("\n{:LABEL$}", ""))
    };
    format!("{}{rest}", style(label).bold())
}

/// Whether these are the first columns of a line with a label, or of one that continues it.
fn is_label(columns: &str) -> bool {
    columns.ends_with("  ") && columns.split_whitespace().count() <= 1
}
