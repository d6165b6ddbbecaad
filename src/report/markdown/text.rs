//! Texts of cases and stores in Markdown: they may hold anything, and are shown as they are.

/// A text in a line of Markdown, also in a cell of a table: it has no line break, cell or tag of HTML.
pub fn inline(text: &str) -> String {
    without_tags(text).replace('|', "\\|")
}

/// A text in a line of HTML.
pub fn without_tags(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut letters = text.trim_end().chars().peekable();
    while let Some(letter) = letters.next() {
        let begins_a_tag = |next: &char| next.is_ascii_alphabetic() || "/!?".contains(*next);
        match letter {
            '<' if letters.peek().is_some_and(begins_a_tag) => shown += "&lt;",
            letter if letter.is_control() => shown.push(' '),
            letter => shown.push(letter),
        }
    }
    shown
}

/// A text of paragraphs and lists, each paragraph in one line: an issue on GitHub breaks a line where its text does.
pub fn unwrapped(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in text.trim().lines() {
        let begins = [" ", "- ", "|", "```", "#"].iter().any(|start| line.starts_with(start));
        let goes_on = !line.is_empty() && !begins;
        match lines.last_mut() {
            Some(last) if goes_on && !last.is_empty() => *last += &format!(" {line}"),
            _ => lines.push(line.to_string()),
        }
    }
    lines.join("\n")
}

/// A block of code in `language`, with a fence that is longer than any in the code.
pub fn fenced(language: &str, code: &str) -> String {
    let longest = code.split(|letter| letter != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let end = if code.is_empty() || code.ends_with('\n') { "" } else { "\n" };
    format!("{fence}{language}\n{code}{end}{fence}\n")
}

/// Code in a collapsed block, so that the issue stays short.
pub fn folded(summary: &str, language: &str, code: &str) -> String {
    collapsed(summary, &fenced(language, code))
}

/// Markdown in a collapsed block.
pub fn collapsed(summary: &str, inside: &str) -> String {
    format!("\n<details>\n<summary>{summary}</summary>\n\n{inside}\n</details>\n")
}
