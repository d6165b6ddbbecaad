//! `snuffer findings known`: the share of independently known issues that a store's findings show.

use std::path::Path;

use anyhow::Context;
use globset::Glob;
use serde::Deserialize;

use super::UsageError;
use crate::exit_code::Exit;
use crate::store::Store;

/// A list of known issues, such as `docs/known-issues.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Known {
    issue: Vec<Issue>,
}

/// A known issue.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Issue {
    id: String,
    title: String,
    /// Patterns of the names of findings that show it.
    #[serde(default)]
    shown_by: Vec<String>,
    /// Why no finding can show it.
    #[serde(default)]
    unseen: Option<String>,
}

/// Prints each issue with the first finding that shows it. `Findings` if no finding shows an issue that one could.
pub fn run(store: &Store, list: &Path) -> anyhow::Result<Exit> {
    let shown = list.display();
    let text = std::fs::read_to_string(list).map_err(|error| UsageError(format!("cannot read {shown}: {error}")))?;
    let known: Known = toml::from_str(&text).map_err(|error| UsageError(format!("{shown}: {error}")))?;
    let names: Vec<String> = store.all()?.into_iter().map(|(name, _)| name).collect();
    let (mut found, mut missing) = (0, 0);
    for issue in &known.issue {
        let finding = first_match(&issue.shown_by, &names)?;
        let line = match (finding, &issue.unseen) {
            (Some(name), _) => {
                found += 1;
                format!("found    {}  {}\n         {name}", issue.id, issue.title)
            }
            (None, Some(why)) => format!("unseen   {}  {}\n         {why}", issue.id, issue.title),
            (None, None) => {
                missing += 1;
                format!("MISSING  {}  {}", issue.id, issue.title)
            }
        };
        println!("{line}");
    }
    let rest = known.issue.len() - found - missing;
    println!("{found} of {} known issues found, {missing} missing, {rest} that no finding can show", known.issue.len());
    Ok(if missing == 0 { Exit::Clean } else { Exit::Findings })
}

fn first_match<'a>(patterns: &[String], names: &'a [String]) -> anyhow::Result<Option<&'a String>> {
    for pattern in patterns {
        let glob = Glob::new(pattern).with_context(|| format!("`{pattern}` is not a pattern"))?.compile_matcher();
        if let Some(name) = names.iter().find(|name| glob.is_match(name)) {
            return Ok(Some(name));
        }
    }
    Ok(None)
}
