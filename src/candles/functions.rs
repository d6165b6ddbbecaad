//! The functions of candle's sources, by lines: a signature names a function, which the next release still has, and not a line, which
//! it moves. Suite and set-up read sources of candle, so both compile this file.
//!
//! The sources are formatted by their authors: a function ends at the first closing brace of its own indentation.

use std::path::Path;

/// The lines of the table for a file, whose path in candle's repository is `place`: path, first and last line, name.
pub fn lines_of(place: &str, text: &str) -> String {
    let lines =
        functions_of(place, text).into_iter().map(|(first, last, name)| format!("{place}\t{first}\t{last}\t{name}\n"));
    lines.collect::<Vec<_>>().concat()
}

/// The functions of a file, of Rust by its name, or else of CUDA.
pub fn functions_of(place: &str, text: &str) -> Vec<Function> {
    let is_rust = Path::new(place).extension().is_some_and(|extension| extension == "rs");
    if is_rust { rust(text) } else { cuda(text) }
}

/// First line, last line and name, lines from 1.
pub type Function = (usize, usize, String);

/// The functions of a Rust source, methods with their type, and what a macro at the top level makes.
pub fn rust(text: &str) -> Vec<Function> {
    let lines: Vec<&str> = text.lines().collect();
    let mut types: Vec<(usize, String)> = Vec::new();
    let mut found = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let (indent, code) = (line.len() - line.trim_start().len(), line.trim_start());
        types.retain(|(last, _)| *last > index);
        let last = || last_line(&lines, index, indent, "}");
        if let Some(name) = implemented(code) {
            types.push((last(), name));
        } else if let Some(name) = function(code) {
            let name = types.last().map_or(name.to_string(), |(_, of)| format!("{of}::{name}"));
            found.push((index + 1, last() + 1, name));
        } else if indent == 0
            && let Some((name, argument)) = code.split_once("!(")
            && is_identifier(name)
            && name != "macro_rules"
        {
            let argument = argument.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or_default();
            let last = if code.ends_with(';') { index } else { last_line(&lines, index, 0, ");") };
            found.push((index + 1, last + 1, format!("{name}!({argument})")));
        }
    }
    found
}

/// The last line of what begins at `first`: it is itself, where it ends there, or the next that closes at `indent`.
fn last_line(lines: &[&str], first: usize, indent: usize, close: &str) -> usize {
    if lines[first].ends_with('}') || lines[first].ends_with(';') {
        return first;
    }
    let closes = |line: &&str| line.len() - line.trim_start().len() == indent && line.trim_start().starts_with(close);
    lines[first + 1..].iter().position(closes).map_or(first, |more| first + 1 + more)
}

/// The type of `impl … {`, or the trait of `trait … {`.
fn implemented(code: &str) -> Option<String> {
    let code = code.strip_prefix("unsafe ").unwrap_or(code);
    let code = code.strip_prefix("pub ").or_else(|| code.strip_prefix("pub(crate) ")).unwrap_or(code);
    let rest = match code.strip_prefix("trait ") {
        Some(rest) => rest,
        None => {
            let rest = code.strip_prefix("impl").filter(|rest| rest.starts_with([' ', '<']))?;
            let rest = without_generics(rest);
            rest.split_once(" for ").map_or(rest, |(_, of)| of)
        }
    };
    let rest = rest.trim_start().trim_start_matches(['&', '(']);
    let path = rest.split(|c: char| !(c.is_alphanumeric() || "_:$".contains(c))).next()?;
    path.trim_end_matches(':').rsplit("::").next().map(ToString::to_string).filter(|name| !name.is_empty())
}

/// What follows the generics that `text` may begin with.
fn without_generics(text: &str) -> &str {
    let mut depth = 0;
    for (place, c) in text.char_indices() {
        match c {
            '<' => depth += 1,
            // Not the arrow of a function's type.
            '>' if !text[..place].ends_with('-') => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return if c == '>' { &text[place + 1..] } else { text };
        }
    }
    text
}

/// The name of the function that a line begins.
fn function(code: &str) -> Option<&str> {
    const BEFORE: [&str; 9] =
        ["pub", "pub(crate)", "pub(super)", "const", "async", "unsafe", "default", "extern", "\"C\""];
    let mut words = code.split(' ');
    let word = words.find(|word| !BEFORE.contains(word))?;
    let name = words.next().filter(|_| word == "fn")?;
    let name = name.split(['(', '<']).next()?;
    Some(name.trim_start_matches('$')).filter(|name| is_identifier(name))
}

fn is_identifier(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// The functions of a CUDA source, the macros that make kernels, and where these are used.
pub fn cuda(text: &str) -> Vec<Function> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    let mut index = 0;
    while index < lines.len() {
        let (first, line) = (index, lines[index]);
        index += 1;
        if let Some(rest) = line.strip_prefix("#define ") {
            while index < lines.len() && lines[index - 1].trim_end().ends_with('\\') {
                index += 1;
            }
            let name = rest.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or_default();
            found.extend((index > first + 1).then(|| (first + 1, index, name.to_string())));
        } else if line.starts_with(|c: char| c.is_alphabetic() || c == '_') && line.contains('(') {
            let name = called(line);
            if let Some(end) = body_end(&lines, first) {
                index = end + 1;
            }
            found.extend(name.map(|name| (first + 1, index, name)));
        }
    }
    found
}

/// The name before the first parenthesis that is not an attribute's.
fn called(line: &str) -> Option<String> {
    line.match_indices('(').find_map(|(place, _)| {
        let before = line[..place].trim_end();
        let name = before.rsplit(|c: char| !(c.is_alphanumeric() || c == '_')).next()?;
        let is_attribute = name.is_empty() || name.starts_with("__launch_bounds") || name == "__align__";
        (!is_attribute).then(|| name.to_string())
    })
}

/// The line that closes the body that begins at `first` or soon after; none for a declaration or a use of a macro.
fn body_end(lines: &[&str], first: usize) -> Option<usize> {
    const HEADER: usize = 40;
    let opens = (first..lines.len().min(first + HEADER)).find(|&line| lines[line].contains(['{', ';']))?;
    let line = lines[opens];
    if !line.contains('{') {
        return None;
    }
    if line.matches('{').count() == line.matches('}').count() {
        return Some(opens);
    }
    (opens + 1..lines.len()).find(|&line| lines[line].starts_with('}'))
}
