//! candle's issues and pull requests about a bug, as a list in Markdown.

use super::markdown::text::inline;
use crate::causes::{Link, Relation};

/// The links, a line each with its title: first those that are about the bug itself. `kept` is one without a title.
pub fn list(kept: Option<&str>, links: &[Link]) -> String {
    let mut sorted: Vec<&Link> = links.iter().collect();
    sorted.sort_by_key(|link| link.kind);
    let titled = |Link { url, kind, title }: &Link| format!("- {}: {} ({kind})\n", short(url), inline(title));
    let kept = kept.map(|url| format!("- {}\n", short(url)));
    kept.into_iter().chain(sorted.into_iter().map(titled)).collect()
}

/// True if one of them reports the bug or would fix it: a maintainer wants to know that first.
pub fn are_about_the_bug(links: &[Link]) -> bool {
    links.iter().any(|link| matches!(link.kind, Relation::Report | Relation::Fix))
}

/// A link with the number of its issue as its text.
pub fn short(url: &str) -> String {
    format!("[#{}]({url})", url.rsplit('/').next().unwrap_or(url))
}
