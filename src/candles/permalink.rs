//! Links to the places of a cause in candle's repository, at the commit that the release was made from.

use serde::Deserialize;

use super::fixed;
use super::functions::functions_of;
use super::registry::released;
use crate::causes::RootCause;

/// What Cargo packs of the repository that a crate comes from (the Cargo book, `cargo package`).
#[derive(Deserialize)]
struct Packed {
    git: Git,
}

#[derive(Deserialize)]
struct Git {
    sha1: String,
}

/// The places of `cause`, as links in Markdown; as code where the sources are not on this machine.
pub fn places(cause: &RootCause) -> String {
    cause
        .at
        .iter()
        .map(|place| link(cause, place).unwrap_or_else(|| format!("`{place}`")))
        .collect::<Vec<_>>()
        .join(", ")
}

/// The link to the lines of `place` that the fix changes, or else to its whole function.
fn link(cause: &RootCause, place: &str) -> Option<String> {
    let (file, function) = place.split_once(' ')?;
    let packed = std::fs::read(released(file.split('/').next()?).ok()?.join(".cargo_vcs_info.json")).ok()?;
    let Packed { git: Git { sha1 } } = serde_json::from_slice(&packed).ok()?;
    let text = fixed::source(file).ok()?;
    let edits = cause.fix.iter().flat_map(|fix| &fix.edit);
    let its = edits.filter(|edit| edit.file == file && edit.function.as_deref() == Some(function));
    let changed: Vec<_> =
        its.flat_map(|edit| fixed::places(file, &text, Some(function), edit.lines, &edit.hash)).collect();
    let lines = match (changed.iter().map(|range| range.start).min(), changed.iter().map(|range| range.end).max()) {
        (Some(first), Some(last)) => (first + 1, last.max(first + 1)),
        _ => functions_of(file, &text)
            .into_iter()
            .find(|(.., name)| name == function)
            .map(|(first, last, _)| (first, last))?,
    };
    let lines = match lines {
        (first, last) if first == last => format!("L{first}"),
        (first, last) => format!("L{first}-L{last}"),
    };
    let name = function.rsplit("::").next().unwrap_or(function);
    let short = file.split_once("/src/").map_or(file, |(_, inside)| inside);
    Some(format!("[`{name}` in {short}](https://github.com/huggingface/candle/blob/{sha1}/{file}#{lines})"))
}
