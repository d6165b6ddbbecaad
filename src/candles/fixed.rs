//! The release under test with fixes of root causes: copies of its crates in which each edit has found its place.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;

use anyhow::Context;
use similar::TextDiff;

use super::functions::functions_of;
use super::registry::released;
use super::{Unusable, digest, files, write_if_new};
use crate::CANDLE;
use crate::causes::{Edit, Fix, RootCause};

/// Fixes by the name of their cause.
pub type Fixes = BTreeMap<String, Fix>;

/// The fixes of the causes with these names, or parts of names; all if there are none.
pub fn fixes(names: &[String]) -> Result<Fixes, Unusable> {
    let causes = RootCause::all().map_err(Unusable)?;
    let all: Fixes = causes.into_iter().filter_map(|cause| Some((cause.name, cause.fix?))).collect();
    if names.is_empty() {
        return Ok(all);
    }
    let one = |name: &String| {
        let is_meant = |own: &&String| *own == name || !all.contains_key(name) && own.contains(name.as_str());
        let meant: Vec<&String> = all.keys().filter(is_meant).collect();
        match &meant[..] {
            [one] => Ok(((*one).clone(), all[*one].clone())),
            [] => Err(Unusable(format!("no cause `{name}` has a fix; `snuffer causes --kept` lists them"))),
            [one, another, ..] => {
                Err(Unusable(format!("`{name}` matches `{one}` and `{another}`; type more of the name")))
            }
        }
    };
    names.iter().map(one).collect()
}

/// A digest of what `fixes` change.
pub fn digest_of(fixes: &Fixes) -> String {
    let texts: Vec<String> = fixes.values().map(Fix::to_text).collect();
    digest(texts.iter().map(String::as_bytes))
}

/// Writes copies of the crates that `fixes` change, changed, into `folder`, in place of those that it has.
pub fn write(fixes: &Fixes, folder: &Path) -> anyhow::Result<()> {
    for name in super::CRATES {
        let copy = folder.join(name);
        if copy.exists() {
            std::fs::remove_dir_all(&copy).with_context(|| format!("cannot remove {}", copy.display()))?;
        }
    }
    let changed = changed(fixes)?;
    let crates: BTreeSet<&str> = changed.keys().filter_map(|file| file.split('/').next()).collect();
    for name in crates {
        let from = released(name)?;
        for path in files(&from)? {
            let inside = format!("{name}/{}", path.strip_prefix(&from)?.display());
            let text = changed.get(&inside).map(|(_, new)| new.clone().into_bytes());
            write_if_new(&folder.join(&inside), &text.map_or_else(|| std::fs::read(&path), Ok)?)?;
        }
    }
    Ok(())
}

/// What `fixes` change, as a unified diff of candle's sources on this machine.
pub fn diff(fixes: &Fixes) -> Result<String, Unusable> {
    let one = |(file, (old, new)): (String, (String, String))| {
        let diff = TextDiff::from_lines(&old, &new);
        diff.unified_diff().header(&format!("a/{file}"), &format!("b/{file}")).to_string()
    };
    Ok(changed(fixes)?.into_iter().map(one).collect())
}

/// The fix of `cause` as a unified diff, if it has one.
pub fn diff_of(cause: &RootCause) -> Result<Option<String>, Unusable> {
    let of = |fix: &Fix| diff(&Fixes::from([(cause.name.clone(), fix.clone())]));
    cause.fix.as_ref().map(of).transpose()
}

/// The files that `fixes` change: their texts as released, and changed.
fn changed(fixes: &Fixes) -> Result<BTreeMap<String, (String, String)>, Unusable> {
    let mut edits: BTreeMap<&str, Vec<(&str, &Edit)>> = BTreeMap::new();
    for (cause, fix) in fixes {
        fix.edit.iter().for_each(|edit| edits.entry(&edit.file).or_default().push((cause, edit)));
    }
    let one = |(file, edits): (&str, Vec<(&str, &Edit)>)| {
        let text = source(file)?;
        let new = edited(file, &text, &edits)?;
        Ok((file.to_string(), (text, new)))
    };
    edits.into_iter().map(one).collect()
}

/// The text of a file of the release under test, such as `candle-core/src/conv.rs`.
pub fn source(file: &str) -> Result<String, Unusable> {
    let (name, inside) = file.split_once('/').unwrap_or((file, ""));
    std::fs::read_to_string(released(name)?.join(inside))
        .map_err(|error| Unusable(format!("candle {CANDLE} has no {file}: {error}")))
}

/// `text` with the edits, each with the name of its cause.
pub fn edited(file: &str, text: &str, edits: &[(&str, &Edit)]) -> Result<String, Unusable> {
    let mut lines: Vec<Cow<str>> = text.lines().map(Cow::Borrowed).collect();
    let mut placed: Vec<(Range<usize>, &str, &Edit)> = Vec::new();
    for (cause, edit) in edits {
        let problem = |problem: String| Unusable(format!("the fix of {cause}: {problem}"));
        placed.push((place(file, text, edit).map_err(problem)?, cause, edit));
    }
    placed.sort_by_key(|(range, ..)| range.start);
    let overlap = placed.iter().zip(placed.iter().skip(1)).find(|(one, next)| one.0.end > next.0.start);
    if let Some(((_, one, _), (range, other, _))) = overlap {
        let line = range.start + 1;
        return Err(Unusable(format!(
            "the fixes of {one} and {other} both change {file}:{line}; name only one of them"
        )));
    }
    for (range, cause, edit) in placed.into_iter().rev() {
        let new = edit.result(&lines[range.clone()]).map_err(|why| Unusable(format!("the fix of {cause}: {why}")))?;
        lines.splice(range, new.into_iter().map(Cow::Owned));
    }
    Ok(lines.join("\n") + if text.ends_with('\n') { "\n" } else { "" })
}

/// The lines of `text` that `edit` replaces: the only ones in its function that have its hash.
fn place(file: &str, text: &str, edit: &Edit) -> Result<Range<usize>, String> {
    let within = edit.function.as_ref().map_or_else(|| file.to_string(), |function| format!("{function} of {file}"));
    match &places(file, text, edit.function.as_deref(), edit.lines, &edit.hash)[..] {
        [one] => Ok(one.clone()),
        [] => Err(format!("there is different code in {within}; read it and record the fix again")),
        several => {
            Err(format!("these lines occur {} times in {within}; record the fix again with more lines", several.len()))
        }
    }
}

/// The places of `count` lines with this hash in a function, or anywhere.
pub fn places(file: &str, text: &str, function: Option<&str>, count: usize, hash: &str) -> Vec<Range<usize>> {
    let lines: Vec<&str> = text.lines().collect();
    let whole = (1, lines.len(), String::new());
    let within = match function {
        None => vec![whole],
        Some(name) => functions_of(file, text).into_iter().filter(|(.., own)| own == name).collect(),
    };
    let starts: BTreeSet<usize> = within
        .into_iter()
        .flat_map(|(first, last, _)| first - 1..(last.min(lines.len()) + 1).saturating_sub(count))
        .filter(|start| hash_of(&lines[*start..start + count]) == hash)
        .collect();
    starts.into_iter().map(|start| start..start + count).collect()
}

/// A hash of lines that does not depend on their indentation.
pub fn hash_of(lines: &[&str]) -> String {
    digest(lines.iter().map(|line| line.trim().as_bytes()))
}
