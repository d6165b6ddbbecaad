//! Texts of cases and stores as they are printed: they may hold anything, and a terminal or a CI runner must not obey them.

use std::borrow::Cow;

/// The text with every character escaped that a terminal obeys, but for line breaks, tabs and, if there are colors, styles. And so
/// that no line is a command of a CI runner. The escapes are those of TOML and of JSON.
pub fn harmless(text: &str) -> Cow<'_, str> {
    let is_command = |line: &str| line.trim_start().starts_with("::") || line.contains("##[");
    if !text.chars().any(is_obeyed) && !text.lines().any(is_command) {
        return Cow::Borrowed(text);
    }
    let styles = console::colors_enabled();
    let mut shown = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let start = line.len() - line.trim_start().len();
        for (at, letter) in line.char_indices() {
            let rest = &line[at..];
            let is_marked = at == start && rest.starts_with("::") || rest.starts_with("##[");
            if is_marked || is_obeyed(letter) && !(styles && is_style(rest)) {
                shown += &escaped(letter);
            } else {
                shown.push(letter);
            }
        }
    }
    Cow::Owned(shown)
}

/// How much of a line of an error is shown.
const LONGEST: usize = 2000;

/// The same for errors: a line that quotes a huge text is cut, once it has its escapes.
pub fn short_and_harmless(text: &str) -> String {
    let cut = |line: &str| match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_string(),
    };
    let lines: Vec<String> = harmless(text).split('\n').map(cut).collect();
    lines.join("\n")
}

/// Whether a terminal may do something else than show this character: a control character, or one that reverses the direction.
fn is_obeyed(letter: char) -> bool {
    letter.is_control() && !matches!(letter, '\n' | '\t')
        || matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Whether a text begins with a color or another style, such as `ESC [ 1 m`.
fn is_style(text: &str) -> bool {
    let Some(rest) = text.strip_prefix("\u{1b}[") else { return false };
    rest.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == ';').starts_with('m')
}

fn escaped(letter: char) -> String {
    let code = u32::from(letter);
    if code > 0xffff { format!("\\U{code:08x}") } else { format!("\\u{code:04x}") }
}
