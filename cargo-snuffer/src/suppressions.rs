//! Findings that are known: a file says which, and why.

use std::path::Path;

use anyhow::Context;
use device_record::Record;
use globset::Glob;
use serde::Deserialize;

/// The file that is read if it is there.
const DEFAULT: &str = "snuffer-suppressions.toml";

/// The entries of a file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suppressions {
    #[serde(default)]
    suppress: Vec<Suppression>,
}

/// A known finding. What is left out fits everything.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suppression {
    kind: Option<Glob>,
    kernel: Option<Glob>,
    file: Option<Glob>,
    test: Option<Glob>,
    /// Why it is let pass, with a link to what is done about it.
    pub reason: String,
}

impl Suppressions {
    /// Reads `file`, or else the default one, if there is one.
    pub fn read(file: Option<&Path>) -> anyhow::Result<Self> {
        let file = match file {
            None if !Path::new(DEFAULT).is_file() => return Ok(Self::default()),
            file => file.unwrap_or(Path::new(DEFAULT)),
        };
        let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        toml::from_str(&text).with_context(|| format!("{} is not a list of suppressions", file.display()))
    }

    /// The entry that lets a record of a test pass.
    pub fn of(&self, record: &Record, test: &str) -> Option<&Suppression> {
        let fits =
            |glob: &Option<Glob>, text: &str| glob.as_ref().is_none_or(|glob| glob.compile_matcher().is_match(text));
        self.suppress.iter().find(|it| {
            fits(&it.kind, record.fault.kind.name())
                && fits(&it.kernel, &record.fault.place.kernel)
                && fits(&it.file, record.fault.place.source.as_ref().map_or("", |source| &source.file))
                && fits(&it.test, test)
        })
    }
}

#[cfg(test)]
mod tests {
    use device_record::{Fault, Kind, Record, Severity};

    use super::Suppressions;

    #[test]
    fn an_entry_fits_what_it_names_and_nothing_else() {
        let text = "[[suppress]]\nkind = 'race'\nkernel = 'fast_*'\nreason = 'known'";
        let known: Suppressions = toml::from_str(text).expect("valid");
        let record = |kind: Kind, kernel: &str| Record {
            severity: Severity::Report,
            fault: Fault::new(kind, kernel, ""),
            host: Vec::new(),
        };
        for (kind, kernel, is_known) in
            [(Kind::Race, "fast_sum", true), (Kind::Race, "slow_sum", false), (Kind::OutOfBounds, "fast_sum", false)]
        {
            assert_eq!(known.of(&record(kind, kernel), "it: a").is_some(), is_known, "{kind} {kernel}");
        }
        assert!(toml::from_str::<Suppressions>("[[suppress]]\nkind = 'race'").is_err(), "without a reason");
        assert!(toml::from_str::<Suppressions>("[[suppress]]\nknd = 'race'\nreason = ''").is_err(), "mistyped");
    }
}
