//! What another release of candle means for this suite: the places in its sources that contracts cite, its public functions, its dtypes.

use std::collections::BTreeSet;

use super::functions::functions_of;
use super::sources::Sources;

/// A place in candle's sources that a file of this project cites.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Citation {
    /// The file and line that cite it.
    pub by: String,
    /// The file of candle.
    pub file: String,
    /// The line in it, from 1.
    pub line: usize,
}

/// What became of a cited place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Became {
    /// The same code is on the same line.
    Same,
    /// The same code is on this line.
    Moved(usize),
    /// The function of this name has other code.
    Changed(String),
    /// It is not there.
    Gone,
}

/// The citations in a text of the file `by`: a file of candle and a line, such as `candle-nn/src/optim.rs:86`.
pub fn citations(by: &str, text: &str) -> Vec<Citation> {
    let of_line = |(index, line): (usize, &str)| {
        let words = line.split(|c: char| !(c.is_ascii_alphanumeric() || "-_./:".contains(c)));
        let cited = words.filter_map(|word| {
            let (file, rest) = word.split_once(':')?;
            let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
            let is_candle = file.starts_with("candle-") && file.contains("/src/");
            is_candle.then_some((file.to_string(), digits.parse().ok()?))
        });
        cited.map(|(file, line)| Citation { by: format!("{by}:{}", index + 1), file, line }).collect::<Vec<_>>()
    };
    text.lines().enumerate().flat_map(of_line).collect()
}

/// What became of a place between two releases; `None` if the first does not have it.
pub fn became(citation: &Citation, base: &Sources, head: &Sources) -> Option<Became> {
    let old = text(base, &citation.file)?;
    let lines: Vec<&str> = old.lines().collect();
    let cited = lines.get(citation.line.checked_sub(1)?)?.trim();
    let Some(new) = text(head, &citation.file) else { return Some(Became::Gone) };
    let rows: Vec<&str> = new.lines().collect();
    let is_around = |(first, last, _): &(usize, usize, String)| (*first..=*last).contains(&citation.line);
    let around = functions_of(&citation.file, &old).into_iter().rfind(is_around);
    let Some((first, last, name)) = around else {
        // Outside of functions a line is known by its text, which may stand in several places.
        let same = rows.iter().enumerate().filter(|(_, row)| row.trim() == cited).map(|(index, _)| index + 1);
        let nearest = same.min_by_key(|line| line.abs_diff(citation.line));
        return Some(nearest.map_or(Became::Gone, |line| at(citation.line, line)));
    };
    let same_name = functions_of(&citation.file, &new).into_iter().filter(|(_, _, other)| *other == name);
    let same_name: Vec<_> = same_name.collect();
    let same_code = |(begin, end, _): &&(usize, usize, String)| {
        rows[begin - 1..(*end).min(rows.len())] == lines[first - 1..last.min(lines.len())]
    };
    Some(match same_name.iter().find(same_code) {
        Some((begin, ..)) => at(citation.line, begin + citation.line - first),
        None if same_name.is_empty() => Became::Gone,
        None => Became::Changed(name),
    })
}

fn at(old: usize, new: usize) -> Became {
    if old == new { Became::Same } else { Became::Moved(new) }
}

fn text(sources: &Sources, file: &str) -> Option<String> {
    sources.compiled.get(file).map(|bytes| String::from_utf8_lossy(bytes).into_owned())
}

/// The public functions of candle-core and candle-nn, each with its file: `candle-nn/src/ops.rs softmax`.
pub fn public_functions(sources: &Sources) -> BTreeSet<String> {
    let files = sources.compiled.iter().filter(|(file, _)| !file.starts_with("candle-kernels"));
    let named = files.flat_map(|(file, bytes)| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let lines: Vec<&str> = text.lines().collect();
        let public = |(first, ..): &(usize, usize, String)| lines[first - 1].trim_start().starts_with("pub fn ");
        let found: Vec<String> =
            functions_of(file, &text).into_iter().filter(public).map(|(.., name)| format!("{file} {name}")).collect();
        found
    });
    named.collect()
}

/// The names of candle's dtypes.
pub fn dtypes(sources: &Sources) -> BTreeSet<String> {
    let text = text(sources, "candle-core/src/dtype.rs").unwrap_or_default();
    let lines = text.lines().skip_while(|line| !line.starts_with("pub enum DType")).skip(1);
    let names = lines.take_while(|line| !line.starts_with('}')).filter_map(|line| line.trim().split(',').next());
    names.filter(|name| name.starts_with(|c: char| c.is_ascii_uppercase())).map(str::to_string).collect()
}
