//! How people choose some of many by name: the name itself, a part of it, or a pattern with `*`.

use std::str::FromStr;

use fast_glob::{glob_match, validate};

/// What was typed to choose by name.
#[derive(Debug, Clone)]
pub struct Pattern {
    typed: String,
    is_glob: bool,
}

impl FromStr for Pattern {
    type Err = String;
    fn from_str(typed: &str) -> Result<Self, String> {
        let is_glob = typed.contains(['*', '?', '[', '{']);
        if is_glob {
            validate(typed).map_err(|error| error.to_string())?;
        }
        Ok(Self { typed: typed.to_string(), is_glob })
    }
}

impl std::fmt::Display for Pattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.typed)
    }
}

impl Pattern {
    /// Those of `all` that are meant: the ones with exactly this name, or else each whose name fits or has this in it.
    pub fn choose<T>(&self, all: Vec<T>, name: impl Fn(&T) -> &str) -> Vec<T> {
        let is_exact = all.iter().any(|one| name(one) == self.typed);
        let is_meant = |one: &T| match name(one) {
            name if is_exact => name == self.typed,
            name if self.is_glob => glob_match(&self.typed, name),
            name => name.contains(&self.typed),
        };
        all.into_iter().filter(is_meant).collect()
    }
}
