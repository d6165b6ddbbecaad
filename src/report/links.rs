//! candle's issues and pull requests about a bug.

use super::markdown::text::inline;
use crate::causes::{Link, Relation};

/// The issues and pull requests that are about the bug itself, in a sentence: a maintainer wants to read them first. `None` if there are
/// none. `has_change` says that a change follows which fixes it.
pub fn of_the_bug(links: &[Link], has_change: bool) -> Option<String> {
    let of = |kind: Relation| -> Vec<String> {
        links.iter().filter(|link| link.kind == kind).map(|link| short(&link.url)).collect()
    };
    let (reports, fixes) = (of(Relation::Report), of(Relation::Fix));
    let pulls = fixes.join(", ");
    let it = match reports.split_last() {
        None => {
            return match fixes.len() {
                0 => None,
                1 => Some(format!("A pull request is open for this: {pulls}.")),
                _ => Some(format!("Pull requests are open for this: {pulls}.")),
            };
        }
        Some((only, [])) => only.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
    };
    Some(match fixes.len() {
        0 if has_change => format!("This is {it}; the change below is one for it."),
        0 => format!("This is {it}."),
        1 => format!("This is {it}; a pull request is open for it: {pulls}."),
        _ => format!("This is {it}; pull requests are open for it: {pulls}."),
    })
}

/// Those of `links` that [`of_the_bug`] does not tell.
pub fn others(links: &[Link]) -> Vec<&Link> {
    links.iter().filter(|link| matches!(link.kind, Relation::Origin | Relation::Related)).collect()
}

/// The links, a line each with its title, those first that are closest to the bug. `kept` is one without a title.
pub fn list(kept: Option<&str>, mut links: Vec<&Link>) -> String {
    links.sort_by_key(|link| link.kind);
    let titled = |Link { url, kind, title }: &Link| match kind {
        Relation::Related => format!("- {}: {}\n", short(url), inline(title)),
        kind => format!("- {}: {} ({kind})\n", short(url), inline(title)),
    };
    let kept = kept.map(|url| format!("- {}\n", short(url)));
    kept.into_iter().chain(links.into_iter().map(titled)).collect()
}

/// A link with the number of its issue as its text.
pub fn short(url: &str) -> String {
    format!("[#{}]({url})", url.rsplit('/').next().unwrap_or(url))
}
