//! A place that can be changed, and how the change is written around the text that is there.

use std::ops::Range;

/// A change of one place in a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// The kind of change, in words.
    pub change: &'static str,
    /// The function, with its type if it is a method.
    pub function: String,
    /// The line, from 1.
    pub line: usize,
    /// The bytes of the text that the change concerns.
    pub range: Range<usize>,
    /// How the change is written.
    pub form: Form,
}

impl Site {
    /// The code that the change concerns, on one line.
    pub fn before(&self, text: &str) -> String {
        match &text[self.range.clone()] {
            "" => "{ … }".to_string(),
            code => code.split_whitespace().collect::<Vec<_>>().join(" "),
        }
    }
}

/// How a change is written, so that the text that is there stays, on its lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Form {
    /// Another expression.
    Instead(String),
    /// Another comparison, which differs only if both sides are the same.
    OneOff {
        /// Whether they are.
        same: String,
        /// The other comparison.
        other: String,
    },
    /// The opposite of a `bool`.
    Inverted,
    /// A condition that is false.
    Never,
    /// A statement that does nothing.
    Skipped,
    /// An arm of a `match` that is not taken: a guard after its pattern.
    Passed,
    /// A body that returns this at once: a statement at its beginning.
    Returned(String),
}

impl Form {
    /// What to write before and behind the text, where `on` asks whether the change is switched on.
    pub fn around(&self, on: &str) -> (String, String) {
        let (before, behind) = match self {
            Self::Instead(other) => (format!("(if {on} {{ {other} }} else {{ "), " })".to_string()),
            // Here and for checks, `on` is asked only where the change matters: elsewhere it is not reached.
            Self::OneOff { same, .. } => ("((".to_string(), format!(") != ({same} && {on}))")),
            Self::Inverted => (format!("({on} != ("), "))".to_string()),
            Self::Never => ("((".to_string(), format!(") && !{on})")),
            Self::Skipped => (format!("if !{on} {{ "), " }".to_string()),
            Self::Passed => (String::new(), format!(" if !{on}")),
            Self::Returned(value) => (format!(" if {on} {{ return {value}; }} "), String::new()),
        };
        (before, behind)
    }

    /// The changed code for people, where `text` is there.
    pub fn changed(&self, text: &str) -> String {
        match self {
            Self::Instead(other) | Self::OneOff { other, .. } => as_written(other),
            Self::Inverted => format!("!({text})"),
            Self::Never => "false".to_string(),
            Self::Skipped => "nothing".to_string(),
            Self::Passed => "the next arm that fits".to_string(),
            Self::Returned(value) => format!("return {value}").trim_end().to_string(),
        }
    }
}

/// Code from tokens, with spaces where people write them.
fn as_written(code: &str) -> String {
    let mut written = String::new();
    for word in code.split(' ') {
        let is_name = |c: char| c.is_alphanumeric() || "_])".contains(c);
        let joins = word.starts_with(['.', ',', '?', ';']) && !word.starts_with("..")
            || word.starts_with(['(', '[']) && written.ends_with(is_name)
            || word.starts_with([')', ']'])
            || word == "::"
            || written.ends_with(['(', '[', '.', '&', '!']) && !written.ends_with("&&")
            || written.ends_with("::");
        if !joins && !written.is_empty() {
            written.push(' ');
        }
        written += word;
    }
    written
}
