//! Text as HTML: escaped, with code in backticks, and breakable where a browser would not break it.

use minijinja::{HtmlEscape, Value};

/// Text in which a browser may break names: behind dots, slashes and underscores that a letter follows.
pub fn breakable(text: &str) -> Value {
    Value::from_safe_string(html(text))
}

/// A sentence: breakable, and what stands between backticks is code.
pub fn prose(text: &str) -> Value {
    let mut rest = text;
    let mut prose = String::new();
    while let Some((before, code, after)) = code(rest) {
        prose += &format!("{}<code>{}</code>", html(before), html(code));
        rest = after;
    }
    Value::from_safe_string(prose + &html(rest))
}

/// The first code of a text, and what is before and behind it.
fn code(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once('`')?;
    let (code, after) = rest.split_once('`')?;
    Some((before, code, after))
}

fn html(text: &str) -> String {
    let mut html = String::new();
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        html += &HtmlEscape(letter.encode_utf8(&mut [0; 4])).to_string();
        if ['.', '/', '_'].contains(&letter) && letters.peek().is_some_and(|next| next.is_alphabetic()) {
            html += "<wbr>";
        }
    }
    html
}
