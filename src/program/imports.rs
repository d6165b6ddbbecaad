//! The items of candle that a program or a test uses.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// The items of candle-core that only some programs need.
const ITEMS: [&str; 8] = ["DType", "IndexOp", "Module", "ModuleT", "Tensor", "Var", "D", "test_utils"];

/// Items of candle-nn, each with the text that needs it: traits, and a type that calls name without its path.
const ITEMS_OF_NN: [(&str, &str); 4] =
    [("Optimizer", "optimizer."), ("RNN", "LSTM"), ("RNN", "GRU"), ("attention::AttnMask", "AttnMask::")];

/// Items by the crate that has them. They are displayed as `use` lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imports(BTreeMap<&'static str, Vec<&'static str>>);

impl Imports {
    /// The items that `body` needs, and `also` of candle-core.
    pub fn of(body: &str, also: &[&'static str]) -> Self {
        let mut core = also.to_vec();
        core.extend(ITEMS.into_iter().filter(|name| needs(body, name)));
        let nn: BTreeSet<_> =
            ITEMS_OF_NN.into_iter().filter(|(_, user)| body.contains(user)).map(|(name, _)| name).collect();
        Self(BTreeMap::from([("candle_core", core), ("candle_nn", nn.into_iter().collect())]))
    }

    /// With candle-core by the name that it has in candle-nn's own tests.
    #[must_use]
    pub fn of_candle_nn(self) -> Self {
        let renamed = |(krate, names)| (if krate == "candle_core" { "candle" } else { krate }, names);
        Self(self.0.into_iter().map(renamed).collect())
    }

    /// True if it has items of candle-nn.
    pub fn has_candle_nn(&self) -> bool {
        self.0.get("candle_nn").is_some_and(|names| !names.is_empty())
    }

    /// Those that a file with the text `source` does not import yet.
    #[must_use]
    pub fn beside(&self, source: &str) -> Self {
        let there: BTreeSet<&str> = imports_of(source).flat_map(bound).collect();
        let is_there = |name: &str| there.contains(name.rsplit("::").next().unwrap_or(name));
        let lacking = |names: &Vec<&'static str>| names.iter().copied().filter(|name| !is_there(name)).collect();
        Self(self.0.iter().map(|(krate, names)| (*krate, lacking(names))).collect())
    }

    /// Those of crates that a file with the text `source` imports from, and the others, which need a `use` of their own.
    pub fn merged_into(&self, source: &str) -> (Self, Self) {
        let uses = |krate: &str| imports_of(source).any(|path| path.starts_with(&format!("{krate}::")));
        let all = self.0.iter().map(|(krate, names)| (*krate, names.clone()));
        let (merged, new) = all.partition(|(krate, _)| uses(krate));
        (Self(merged), Self(new))
    }

    /// The names of all items.
    pub fn names(&self) -> Vec<&'static str> {
        self.0.values().flatten().copied().collect()
    }
}

impl fmt::Display for Imports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // As rustfmt sorts them in candle's edition: functions, types, constants.
        let class = |name: &str| (name.contains(char::is_uppercase), !name.contains(char::is_lowercase));
        for (krate, names) in &self.0 {
            let mut names = names.clone();
            names.sort_by_key(|name| (class(name), *name));
            match names.as_slice() {
                [] => {}
                [name] => writeln!(f, "use {krate}::{name};")?,
                names => writeln!(f, "use {krate}::{{{}}};", names.join(", "))?,
            }
        }
        Ok(())
    }
}

/// Whether `body` needs this item of candle-core; a trait shows by its methods.
fn needs(body: &str, name: &str) -> bool {
    match name {
        "IndexOp" => body.contains(".i("),
        "Module" => body.contains(".forward("),
        "ModuleT" => body.contains(".forward_t("),
        "D" => body.contains("(D::") || body.contains("= D::"),
        name => is_used(name, body),
    }
}

/// True if `text` has this word.
pub fn is_used(name: &str, text: &str) -> bool {
    let is_of_a_word = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(name)
        .any(|(at, _)| !text[..at].ends_with(is_of_a_word) && !text[at + name.len()..].starts_with(is_of_a_word))
}

/// The paths of the `use` items at the top level of a source that rustfmt has formatted.
pub fn imports_of(source: &str) -> impl Iterator<Item = &str> {
    let starts = source.match_indices("use ").map(|(at, _)| at);
    let is_item = |at: &usize| *at == 0 || source[..*at].ends_with('\n');
    starts.filter(is_item).filter_map(|at| Some(source[at..].strip_prefix("use ")?.split_once(';')?.0))
}

/// The names that the paths of a `use` item bind, but for those of modules bound by `self`.
fn bound(paths: &str) -> impl Iterator<Item = &str> {
    paths.split(['{', '}', ',']).filter_map(|path| path.trim().rsplit([':', ' ']).next())
}
