//! A fix: edits of candle's crates, without a line of candle. A place and a hash name the lines that an edit replaces.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Edits that fix a cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fix {
    /// The edits, in any order.
    pub edit: Vec<Edit>,
}

/// Consecutive lines that are replaced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Edit {
    /// The file, such as `candle-core/src/conv.rs`.
    pub file: String,
    /// The function that has the lines; without one, they are anywhere in the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// How many lines are replaced.
    pub lines: usize,
    /// A hash of these lines without their indentation.
    pub hash: String,
    /// The new lines. A line `{0}` is the first of the replaced lines, as it is, or indented as far as the `{0}` if that is.
    pub with: String,
}

/// How far the fix of a cause is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FixState {
    /// It has none.
    None,
    /// Its proof is missing, or does not hold.
    Unproven,
    /// It makes all that the cause explains pass, and breaks nothing.
    Proven,
}

impl Fix {
    /// The text form.
    pub fn to_text(&self) -> String {
        toml::to_string_pretty(self).expect("a fix is plain data")
    }
}

impl Edit {
    /// The lines that stand in place of `replaced`. An error is a line that it does not have.
    pub fn result(&self, replaced: &[Cow<str>]) -> Result<Vec<String>, String> {
        let line = |line: &str| {
            let Some((indentation, number)) = placeholder(line) else { return Ok(line.to_string()) };
            let stays = replaced.get(number).ok_or_else(|| {
                format!("`{{{number}}}` in the edit of {} is not one of the {} lines", self.file, self.lines)
            })?;
            Ok(match indentation {
                "" => stays.to_string(),
                _ => indentation.to_string() + stays.trim_start(),
            })
        };
        self.with.lines().map(line).collect()
    }

    /// True if its code is of the CPU or of CUDA alone, as candle names such files and functions.
    pub fn is_of_cpu_or_cuda(&self) -> bool {
        const OWN: [&str; 6] = ["cpu", "cuda", "candle-kernels/", "/fast_mmq.rs", "/fast_mmvq.rs", "/k_quants.rs"];
        let is_own = |name: &String| OWN.iter().any(|own| name.contains(own));
        is_own(&self.file) || self.function.as_ref().is_some_and(is_own)
    }

    /// True if the line with this number, from 0, does not stay.
    pub fn replaces(&self, number: usize) -> bool {
        self.with.lines().filter_map(placeholder).all(|(_, kept)| kept != number)
    }
}

/// The line that stands for the replaced line `number` with an indentation, or with its own if that is empty.
pub fn kept(number: usize, indentation: &str) -> String {
    format!("{indentation}{{{number}}}")
}

/// The indentation and the number of such a line.
fn placeholder(line: &str) -> Option<(&str, usize)> {
    let (indentation, rest) = line.split_at(line.len() - line.trim_start().len());
    Some((indentation, rest.strip_prefix('{')?.strip_suffix('}')?.parse().ok()?))
}
