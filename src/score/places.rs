//! The file in which workers mark the places of host code that they reach: a byte for each mutant.

use std::collections::BTreeSet;
use std::os::unix::fs::FileExt;

use anyhow::Context;
use tempfile::NamedTempFile;

use crate::exec::Variable;
use crate::exec::environment::HOST_REACHED;

/// The marks of one set of workers. They have the file in their memory, so that marks outlive a worker that dies.
#[derive(Debug)]
pub struct Places {
    file: NamedTempFile,
    /// How many mutants there are.
    count: usize,
}

impl Places {
    /// No marks yet.
    pub fn new(count: usize) -> anyhow::Result<Self> {
        let file = NamedTempFile::with_prefix("snuffer-reached-").context("cannot make a file")?;
        file.as_file().set_len(count as u64).context("cannot write a file")?;
        Ok(Self { file, count })
    }

    /// The variable that makes a worker mark what it reaches.
    pub fn variable(&self) -> Variable {
        (HOST_REACHED, self.file.path().into())
    }

    /// The numbers that are marked. Clears them.
    pub fn take(&mut self) -> anyhow::Result<BTreeSet<u32>> {
        let mut bytes = vec![0; self.count];
        let file = self.file.as_file();
        file.read_exact_at(&mut bytes, 0).context("cannot read what a worker reached")?;
        file.write_all_at(&vec![0; self.count], 0).context("cannot clear what a worker reached")?;
        Ok(bytes.iter().zip(0..).filter(|(byte, _)| **byte != 0).map(|(_, number)| number).collect())
    }
}
