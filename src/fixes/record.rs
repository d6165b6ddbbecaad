//! Writes a fix from an edited copy of candle's crates: which lines differ, told without candle's text.

use std::ops::Range;
use std::path::Path;

use similar::{DiffOp, DiffTag, TextDiff};

use crate::CANDLE;
use crate::candles::fixed::{edited, hash_of, places};
use crate::candles::{CRATES, Unusable, files, functions_of, released};
use crate::causes::{Edit, Fix, kept};

/// Differences that have at most this many lines between them are one edit.
const NEAR: usize = 3;

/// What the crates in `checkout` change of the release under test.
pub fn record(checkout: &Path) -> anyhow::Result<Fix> {
    let mut edit = Vec::new();
    for name in CRATES.into_iter().filter(|name| checkout.join(name).is_dir()) {
        let from = released(name)?;
        let is_code = |file: &&str| file.starts_with("src/");
        let inside = |root: &Path| -> anyhow::Result<Vec<String>> {
            let paths = files(root)?.into_iter();
            let inside = paths.map(|path| Ok(path.strip_prefix(root)?.to_string_lossy().into_owned()));
            inside.collect()
        };
        let (old, new) = (inside(&from)?, inside(&checkout.join(name))?);
        let (old, new): (Vec<&str>, Vec<&str>) = (
            old.iter().map(String::as_str).filter(is_code).collect(),
            new.iter().map(String::as_str).filter(is_code).collect(),
        );
        if let Some(odd) = old.iter().find(|file| !new.contains(file)).or(new.iter().find(|file| !old.contains(file))) {
            let problem = "a fix edits files; it cannot add or remove one";
            return Err(
                Unusable(format!("only one of candle {CANDLE} and the copy has {name}/{odd}; {problem}")).into()
            );
        }
        for file in old {
            let [old, new] = [from.join(file), checkout.join(name).join(file)].map(std::fs::read_to_string);
            // Files that are no text are compiled into nothing.
            if let (Ok(old), Ok(new)) = (old, new) {
                edit.extend(edits(&format!("{name}/{file}"), &old, &new)?);
            }
        }
    }
    if edit.is_empty() {
        let problem = format!("the crates in {} are unchanged from candle {CANDLE}; edit a copy", checkout.display());
        return Err(Unusable(problem).into());
    }
    Ok(Fix { edit })
}

/// The edits that make `new` of `old`, the text of `file`.
pub fn edits(file: &str, old: &str, new: &str) -> Result<Vec<Edit>, Unusable> {
    let diff = TextDiff::from_lines(old, new);
    let (before, after): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let mut hunks: Vec<Range<usize>> = Vec::new();
    for op in diff.ops().iter().filter(|op| op.tag() != DiffTag::Equal) {
        let range = op.old_range();
        match hunks.last_mut() {
            Some(last) if range.start <= last.end + NEAR => last.end = range.end,
            _ => hunks.push(range),
        }
    }
    let edit = |hunk: Range<usize>| {
        let (function, range) = unique(file, old, &before, hunk);
        let with = replacement(diff.ops(), &range, &before, &after);
        let hash = hash_of(&before[range.clone()]);
        Edit { file: file.to_string(), function, lines: range.len(), hash, with }
    };
    let edits: Vec<Edit> = hunks.into_iter().map(edit).collect();
    let named: Vec<(&str, &Edit)> = edits.iter().map(|edit| ("this copy", edit)).collect();
    if !edited(file, old, &named)?.lines().eq(new.lines()) {
        return Err(Unusable(format!("the edits of {file} cannot be told apart; change fewer lines in one place")));
    }
    Ok(edits)
}

/// The innermost function that has the lines, and as many lines around them as no other place in it has.
fn unique(file: &str, text: &str, lines: &[&str], mut range: Range<usize>) -> (Option<String>, Range<usize>) {
    let has = |(first, last, _): &&(usize, usize, String)| first - 1 <= range.start && range.end <= *last;
    let function =
        functions_of(file, text).into_iter().filter(|it| has(&it)).min_by_key(|(first, last, _)| last - first);
    let (name, within) = match function {
        Some((first, last, name)) => (Some(name), first - 1..last),
        None => (None, 0..lines.len()),
    };
    if range.is_empty() {
        if range.start > within.start { range.start -= 1 } else { range.end += 1 }
    }
    let mut up = true;
    while places(file, text, name.as_deref(), range.len(), &hash_of(&lines[range.clone()])).len() > 1 && range != within
    {
        match () {
            () if (up || range.end == within.end) && range.start > within.start => range.start -= 1,
            () => range.end += 1,
        }
        up = !up;
    }
    (name, range)
}

/// What stands in place of the lines `range`: those that stay, even with another indentation, by their number.
fn replacement(ops: &[DiffOp], range: &Range<usize>, before: &[&str], after: &[&str]) -> String {
    let mut lines: Vec<String> = Vec::new();
    for op in ops {
        let (old, new) = (op.old_range(), op.new_range());
        if op.tag() == DiffTag::Equal {
            let stays = old.start.max(range.start)..old.end.min(range.end);
            lines.extend(stays.map(|line| kept(line - range.start, "")));
        } else if range.start <= old.start && old.end <= range.end {
            lines.extend(after[new].iter().map(|line| {
                let own = &before[range.clone()];
                let same = own.iter().position(|own| own == line);
                let moved = || own.iter().position(|own| own.trim() == line.trim());
                match same.or_else(moved).filter(|_| line.contains(char::is_alphanumeric)) {
                    None => (*line).to_string(),
                    Some(number) if own[number] == *line => kept(number, ""),
                    Some(number) => kept(number, &line[..line.len() - line.trim_start().len()]),
                }
            }));
        }
    }
    lines.iter().map(|line| line.clone() + "\n").collect()
}
