//! Reads the trace in which a simulated device records launches.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufReader};

use anyhow::Context;
use tempfile::NamedTempFile;

use crate::exec::Variable;
use crate::exec::environment::TRACE;
use crate::run::crate_path;

/// A possible change of a kernel or of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The change in words.
    pub what: String,
    /// The file and line of what is changed.
    pub place: String,
    /// What shows that it is reached: the number of its block in the kernel's coverage, or of the mutant of the host code.
    pub mark: usize,
    /// What shows that it has an effect, if that is not certain once it is reached.
    pub effect: Option<Effect>,
    /// The code before and after, if it is source code.
    pub code: Option<String>,
    /// Whether it is known to make no difference.
    pub equivalent: bool,
    /// Whether only a thread with several elements can execute it, and no case did: candle launches a thread for each element.
    pub further_round: bool,
}

/// An edge of a branch of the kernel with the change: it is taken if the change has an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effect {
    /// The branch, by its place among the kernel's.
    pub branch: usize,
    /// Whether the edge is the jump.
    pub jump: bool,
    /// Whether the kernel has the branch without the change, too.
    pub own: bool,
}

/// The possible changes of each kernel or function, by number.
pub type Changes = BTreeMap<String, Vec<Change>>;

/// What a case launched.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Launched {
    /// The kernels.
    pub kernels: BTreeSet<String>,
    /// The functions of cuBLAS and cuRAND that worked on the device.
    pub libraries: BTreeSet<String>,
}

/// The trace file of one worker, read as it grows.
#[derive(Debug)]
pub struct Trace {
    file: NamedTempFile,
    reader: BufReader<File>,
    /// The PTX forms of each kernel that was launched.
    pub forms: BTreeMap<String, Vec<String>>,
}

impl Trace {
    /// An empty trace.
    pub fn new() -> anyhow::Result<Self> {
        let file = NamedTempFile::with_prefix("snuffer-trace-").context("cannot make a file")?;
        let reader = BufReader::new(file.reopen().context("cannot read a file")?);
        Ok(Self { file, reader, forms: BTreeMap::new() })
    }

    /// The variable that makes a worker write it.
    pub fn variable(&self) -> Variable {
        (TRACE, self.file.path().into())
    }

    /// What was launched since the last call. Adds the possible changes of new kernels to `changes`.
    pub fn launched(&mut self, changes: &mut Changes) -> anyhow::Result<Launched> {
        let mut launched = Launched::default();
        let mut line = String::new();
        while self.reader.read_line(&mut line).context("cannot read the trace")? > 0 {
            let read = match line.trim_end().split('\t').collect::<Vec<_>>().as_slice() {
                // A line that was cut when the worker was killed. Its replacement writes it again.
                _ if !line.ends_with('\n') => Some(()),
                [""] => Some(()),
                ["launch", kernel] => {
                    launched.kernels.insert((*kernel).to_string());
                    Some(())
                }
                ["library", function] => {
                    launched.libraries.insert((*function).to_string());
                    Some(())
                }
                ["forms", kernel, forms @ ..] => {
                    let forms = forms.iter().filter(|form| !form.is_empty()).map(|form| (*form).to_string());
                    self.forms.insert((*kernel).to_string(), forms.collect());
                    Some(())
                }
                ["change", kernel, fields @ ..] => change(fields, changes.entry((*kernel).to_string()).or_default()),
                _ => None,
            };
            read.with_context(|| format!("`{}` is not a line of a trace", line.trim_end()))?;
            line.clear();
        }
        Ok(launched)
    }
}

/// Adds a change to those of its kernel, unless an earlier process of the worker wrote it before.
fn change(fields: &[&str], known: &mut Vec<Change>) -> Option<()> {
    let [number, block, effect, equivalent, further_round, file, line, what] = fields else { return None };
    if number.parse::<usize>().ok()? == known.len() {
        known.push(Change {
            what: (*what).to_string(),
            place: format!("{}:{line}", crate_path(file)),
            mark: block.parse().ok()?,
            effect: if effect.is_empty() { None } else { Some(self::effect(effect)?) },
            code: None,
            equivalent: equivalent.parse().ok()?,
            further_round: further_round.parse().ok()?,
        });
    }
    Some(())
}

/// Reads `BRANCH:JUMP:OWN`.
fn effect(text: &str) -> Option<Effect> {
    let [branch, jump, own] = text.split(':').collect::<Vec<_>>().try_into().ok()?;
    Some(Effect { branch: branch.parse().ok()?, jump: jump.parse().ok()?, own: own.parse().ok()? })
}
