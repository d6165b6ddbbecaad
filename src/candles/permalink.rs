//! Links to the places of a cause in candle's repository, at the commit that the release was made from.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::fixed;
use super::functions::functions_of;
use super::registry::released;
use crate::causes::{Edit, RootCause};

/// What Cargo packs of the repository that a crate comes from (the Cargo book, `cargo package`).
#[derive(Deserialize)]
struct Packed {
    git: Git,
}

#[derive(Deserialize)]
struct Git {
    sha1: String,
}

const REPOSITORY: &str = "https://github.com/huggingface/candle";

/// The places of `cause`, as links in Markdown; as code where the sources are not on this machine. A link to a whole file shows little:
/// there is one only if no place is a function.
pub fn places(cause: &RootCause) -> Vec<String> {
    let is_function = |place: &String| place.contains(' ');
    let has_function = cause.at.iter().any(is_function);
    let shown = cause.at.iter().filter(|place| !has_function || is_function(place));
    shown.map(|place| link(cause, place).unwrap_or_else(|| format!("`{place}`"))).collect()
}

/// The link to the lines of `place` that the fix replaces. It goes to the whole function where there is no fix, or where that only adds
/// lines or changes imports: the code beside them is not wrong. A place without a function is a file or a folder.
fn link(cause: &RootCause, place: &str) -> Option<String> {
    let (file, function) = place.split_once(' ').map_or((place, None), |(file, function)| (file, Some(function)));
    let packed = std::fs::read(released(file.split('/').next()?).ok()?.join(".cargo_vcs_info.json")).ok()?;
    let Packed { git: Git { sha1 } } = serde_json::from_slice(&packed).ok()?;
    let short = file.split_once("/src/").map_or(file, |(_, inside)| inside);
    let Some(function) = function else {
        let kind = if file.ends_with('/') { "tree" } else { "blob" };
        return Some(format!("[`{file}`]({REPOSITORY}/{kind}/{sha1}/{file})"));
    };
    let text = fixed::source(file).ok()?;
    let code = code(&text);
    let replaced = |edit: &Edit| {
        let first = fixed::places(file, &text, edit.function.as_deref(), edit.lines, &edit.hash).first()?.start;
        let its = (0..edit.lines).filter(|&line| edit.replaces(line)).map(|line| first + line);
        Some(its.filter(|&line| code[line]).map(|line| line + 1).collect::<Vec<_>>())
    };
    let edits = cause.fix.iter().flat_map(|fix| &fix.edit).filter(|edit| edit.file == file);
    let changed: BTreeSet<usize> = edits.filter_map(replaced).flatten().collect();
    // Of several functions of this name, the first that changes: the lines between them belong to others.
    let of_name = |(first, last, own): &(usize, usize, String)| {
        let mut its = changed.range(*first..=*last).filter(|_| own == function);
        let first = *its.next()?;
        Some((first, *its.next_back().unwrap_or(&first)))
    };
    let lines = functions_of(file, &text).iter().find_map(of_name).or_else(|| whole(file, &text, function))?;
    let lines = match lines {
        (first, last) if first == last => format!("L{first}"),
        (first, last) => format!("L{first}-L{last}"),
    };
    Some(format!("[`{function}` in {short}]({REPOSITORY}/blob/{sha1}/{file}#{lines})"))
}

/// The first and the last line of a function, of the methods of a type, of a method that a macro makes, or of a macro such as
/// `unary_op!`.
fn whole(file: &str, text: &str, name: &str) -> Option<(usize, usize)> {
    let Some(name) = name.strip_suffix('!') else {
        let functions = functions_of(file, text);
        let function = functions.iter().find(|(.., own)| own == name).map(|(first, last, _)| (*first, *last));
        let method = format!("{name}::");
        let methods: Vec<_> = functions.iter().filter(|(.., own)| own.starts_with(&method)).collect();
        let of_type = methods.first().zip(methods.last()).map(|((first, ..), (_, last, _))| (*first, *last));
        let made = format!("!({},", name.rsplit("::").next().unwrap_or(name));
        let of_macro = text.lines().position(|line| line.contains(&made)).map(|line| (line + 1, line + 1));
        return function.or(of_type).or(of_macro);
    };
    let first = text.lines().position(|line| line == format!("macro_rules! {name} {{"))?;
    let more = text.lines().skip(first).position(|line| line == "}")?;
    Some((first + 1, first + more + 1))
}

/// For each line, true if it is neither a comment, nor of an import, nor only brackets.
fn code(text: &str) -> Vec<bool> {
    let mut is_import = false;
    let line = |line: &str| {
        let line = line.trim();
        is_import |= ["use ", "pub use "].iter().any(|word| line.starts_with(word));
        let is_code = !is_import && line.contains(char::is_alphanumeric) && !line.starts_with("//");
        is_import &= !line.ends_with(';');
        is_code
    };
    text.lines().map(line).collect()
}
