//! A folder of labelled programs: what each run of them contains.

use std::path::Path;

use device_record::Kind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A class of errors that a run may contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// No error.
    None,
    /// Two accesses that nothing orders, and that happen.
    Race,
    /// The same, where the write leaves the value as it is, or both write the same.
    RaceSameValue,
    /// The same, in another order of the threads than the usual one.
    RaceOtherOrder,
    /// A fence or an atomic whose scope is too narrow.
    Scope,
    /// A missing fence.
    Fence,
    /// An access outside of an allocation.
    Bounds,
    /// An access outside of an array in shared memory.
    SharedBounds,
    /// An access inside of an allocation, beyond the part that was meant.
    OverflowInside,
    /// An access to memory that was freed.
    UseAfterFree,
    /// A value that was never written, and that has an effect.
    Uninitialized,
    /// A barrier that not all threads reach, or that names others than those that reach it.
    Barrier,
    /// An address that is not a multiple of the access's size.
    Misaligned,
}

impl Class {
    /// Every class.
    pub const ALL: [Self; 13] = [
        Self::None,
        Self::Race,
        Self::RaceSameValue,
        Self::RaceOtherOrder,
        Self::Scope,
        Self::Fence,
        Self::Bounds,
        Self::SharedBounds,
        Self::OverflowInside,
        Self::UseAfterFree,
        Self::Uninitialized,
        Self::Barrier,
        Self::Misaligned,
    ];

    /// Its name, as in a label.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Race => "race",
            Self::RaceSameValue => "race-same-value",
            Self::RaceOtherOrder => "race-other-order",
            Self::Scope => "scope",
            Self::Fence => "fence",
            Self::Bounds => "bounds",
            Self::SharedBounds => "shared-bounds",
            Self::OverflowInside => "overflow-inside",
            Self::UseAfterFree => "use-after-free",
            Self::Uninitialized => "uninitialized",
            Self::Barrier => "barrier",
            Self::Misaligned => "misaligned",
        }
    }

    /// The kinds of reports that mean it.
    pub fn kinds(self) -> &'static [Kind] {
        match self {
            Self::None => &[],
            Self::Race | Self::RaceSameValue | Self::RaceOtherOrder | Self::Scope | Self::Fence => &[Kind::Race],
            Self::Bounds => &[Kind::OutOfBounds],
            Self::SharedBounds => &[Kind::OutOfWindow],
            Self::OverflowInside => &[Kind::OutOfView],
            Self::UseAfterFree => &[Kind::UseAfterFree],
            Self::Uninitialized => &[Kind::Uninitialized],
            Self::Barrier => &[Kind::Barrier, Kind::Deadlock],
            Self::Misaligned => &[Kind::Misaligned],
        }
    }
}

/// A run of a program, and what it contains.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Label {
    /// The program, from the folder.
    pub command: String,
    /// Its arguments.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// The class of errors that the run contains.
    pub class: Class,
    /// Classes that may be reported besides, as a consequence.
    #[serde(default)]
    pub also: Vec<Class>,
    /// The program that several runs are variants of.
    pub template: Option<String>,
    /// The name of the error.
    pub bug: Option<String>,
    /// How large the run is, such as its number of threads.
    pub size: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Labels {
    run: Vec<Label>,
}

/// The file with the labels, in a folder of programs.
pub const FILE: &str = "labels.toml";

/// The runs of a folder cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {file}: {why}")]
pub struct Unreadable {
    file: String,
    why: String,
}

/// The runs of a folder. Of a sample, every `every`-th run of each class.
pub fn read(folder: &Path, every: usize) -> Result<Vec<Label>, Unreadable> {
    let file = folder.join(FILE);
    let because = |why: String| Unreadable { file: file.display().to_string(), why };
    let text = std::fs::read_to_string(&file).map_err(|error| because(error.to_string()))?;
    let Labels { run } = toml::from_str(&text).map_err(|error| because(error.to_string()))?;
    let mut seen = [0; Class::ALL.len()];
    let is_chosen = |label: &Label| {
        let count = &mut seen[label.class as usize];
        *count += 1;
        (*count - 1) % every == 0
    };
    Ok(run.into_iter().filter(is_chosen).collect())
}
