//! The results on all devices, as a table.

use super::text::inline;
use crate::report::device_line::readable;

/// The characters that are enough of an error that stands in full above.
const TOLD: usize = 80;

/// A table of results, which begins without a row.
#[derive(Debug, Default)]
pub struct Table {
    rows: String,
    /// All that the report has said so far.
    said: String,
}

impl Table {
    /// A table that follows the text `said`.
    pub fn after(said: String) -> Self {
        Self { rows: String::new(), said }
    }

    /// Adds a row with a result as an outcome says it.
    pub fn push(&mut self, on: &str, does: &str) {
        let result = readable(does.strip_prefix("returns ").unwrap_or(does));
        self.rows += &format!("| {on} | {} |\n", inline(&shortened(&result, &self.said)));
        self.said += &format!("{result}\n");
    }

    /// The table; nothing if it has no row.
    pub fn text(&self) -> String {
        if self.rows.is_empty() { String::new() } else { format!("| device | result |\n|---|---|\n{}", self.rows) }
    }
}

/// `result` without the end of its error, if that is long and stands in `said`.
fn shortened(result: &str, said: &str) -> String {
    let error = result.split_once(": ").map(|(_, error)| error).filter(|_| !result.starts_with("Ok"));
    match result.char_indices().nth(TOLD) {
        Some((end, _)) if error.is_some_and(|error| said.contains(error)) => format!("{}…", &result[..end]),
        _ => result.to_string(),
    }
}
