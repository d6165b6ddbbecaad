//! What a device did, in lines for people.

use cpp_demangle::Symbol;

use crate::outcome::Outcome;

/// The columns of a line above which each part of an outcome gets a line of its own.
const LONG: usize = 90;

/// `outcome` with functions as their authors wrote them and without C++ signatures; a long one in a line for each part.
pub fn plain(outcome: &Outcome) -> String {
    let summary = readable(&outcome.summary());
    if summary.len() > LONG { summary.replace("; ", "\n          ") } else { summary }
}

/// `text` with functions as their authors wrote them and without C++ signatures.
pub fn readable(text: &str) -> String {
    demangled(&without_signature(text))
}

/// An assert's text without the signature of the kernel between the line of its source and the block: the kernel is named behind it,
/// and the signature of a template takes three lines.
fn without_signature(text: &str) -> String {
    let cut = || {
        let block = text.find(": block: [")?;
        let file = text.find(".cu:").or_else(|| text.find(".cuh:"))?;
        let line = file + text[file..].find(": ")?;
        (line < block).then(|| format!("{}{}", &text[..line], &text[block..]))
    };
    cut().unwrap_or_else(|| text.to_string())
}

/// `text` with each mangled name of C++ as it is written there, without its parameters.
fn demangled(text: &str) -> String {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let mut plain = String::new();
    let mut rest = text;
    while let Some(start) = rest.find("_Z") {
        let end = rest[start..].find(|letter| !is_part(letter)).map_or(rest.len(), |length| start + length);
        let name = &rest[start..end];
        let options = cpp_demangle::DemangleOptions::new().no_params().no_return_type();
        let readable = Symbol::new(name).ok().and_then(|symbol| symbol.demangle_with_options(&options).ok());
        plain += &rest[..start];
        plain += readable.as_deref().unwrap_or(name);
        rest = &rest[end..];
    }
    plain + rest
}
