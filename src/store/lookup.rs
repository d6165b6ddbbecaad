//! Finds a finding by what a person types: its name, its id, or a part of its name.

use std::fs;

use anyhow::Context;

use super::files::is_there;
use super::findings::FILE;
use super::{Store, id};

impl Store {
    /// The names of all findings, sorted. Their files may be damaged.
    pub fn names(&self) -> anyhow::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.root).with_context(|| format!("cannot read {}", self.root.display()))? {
            let path = entry?.path();
            if is_there(&path.join(FILE)) {
                names.push(path.file_name().unwrap_or_default().to_string_lossy().into_owned());
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    /// The names that `typed` may stand for: the name that it is or whose id it is, or else all names that it is a part of.
    pub fn matching(&self, typed: &str) -> anyhow::Result<Vec<String>> {
        let names = self.names()?;
        let wanted: [&dyn Fn(&str) -> bool; 3] =
            [&|name| name == typed, &|name| id(name) == typed, &|name| name.contains(typed)];
        let matching = |is_wanted: &dyn Fn(&str) -> bool| {
            let matching: Vec<String> = names.iter().filter(|name| is_wanted(name)).cloned().collect();
            (!matching.is_empty()).then_some(matching)
        };
        Ok(wanted.into_iter().find_map(matching).unwrap_or_default())
    }
}
