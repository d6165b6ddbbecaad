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

/// How a fix relates to Metal, where nobody tries it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnMetal {
    /// It changes code that Metal shares.
    Shared,
    /// It changes code of Metal.
    Own,
    /// It changes code that Metal shares, and code that the CPU or CUDA has for itself.
    Partly,
    /// It changes nothing but code that the CPU or CUDA has for itself.
    Untouched,
}

/// The owner of the code that an edit changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    Metal,
    CpuOrCuda,
    All,
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

    /// How it relates to Metal, by the code that it changes.
    pub fn on_metal(&self) -> OnMetal {
        let has = |owner: Owner| self.edit.iter().any(|edit| edit.owner() == owner);
        match (has(Owner::CpuOrCuda), has(Owner::All)) {
            _ if has(Owner::Metal) => OnMetal::Own,
            (false, _) => OnMetal::Shared,
            (true, true) => OnMetal::Partly,
            (true, false) => OnMetal::Untouched,
        }
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

    /// The owner of its code, as candle names files and functions.
    fn owner(&self) -> Owner {
        // The last two are parts of custom ops, in files that all devices share.
        const OWN: [&str; 8] = [
            "cpu",
            "cuda",
            "candle-kernels/",
            "/fast_mmq.rs",
            "/fast_mmvq.rs",
            "/k_quants.rs",
            "ArgSort::",
            "RmsNorm::rms_row",
        ];
        let names = [Some(self.file.as_str()), self.changed_function()];
        let is_in = |part: &str| names.iter().flatten().any(|name| name.contains(part));
        // Shared code that asks for the device leaves Metal out.
        let asks = ["is_cuda()", "is_metal()"].iter().any(|question| self.with.contains(question));
        match () {
            () if is_in("metal") => Owner::Metal,
            () if asks || OWN.into_iter().any(is_in) => Owner::CpuOrCuda,
            () => Owner::All,
        }
    }

    /// The function whose code it changes; `None` if it adds something before a function, such as another one.
    fn changed_function(&self) -> Option<&str> {
        let begins_with_new = self.with.lines().next().is_some_and(|first| placeholder(first).is_none());
        let adds_before = begins_with_new && (0..self.lines).all(|line| !self.replaces(line));
        self.function.as_deref().filter(|_| !adds_before)
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
