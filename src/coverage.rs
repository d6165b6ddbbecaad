//! Coverage of candle's CUDA kernels on a simulated device: blocks entered and branch edges taken, by kernel.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Counts of every kernel that was launched, and the kernels that there are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Coverage {
    /// The names of the kernels that were loaded, by source file. Not their number: modules of one file have different kernels, since a
    /// header is the file of every module that includes it first, and each process loads only some of them.
    pub loaded: BTreeMap<String, BTreeSet<String>>,
    /// What was executed, by source file and kernel.
    pub kernels: BTreeMap<(String, String), Kernel>,
}

/// The coverage of one kernel.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kernel {
    /// How often it was launched.
    pub launches: u64,
    /// How often each block of its code was entered by a warp.
    pub blocks: Vec<u64>,
    /// The line of each conditional branch, and how often a warp fell through and jumped.
    pub branches: Vec<(u32, u64, u64)>,
}

/// How many blocks and branch edges were reached, and how many there are; each branch has two edges.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reached {
    /// Blocks entered.
    pub blocks: usize,
    /// All blocks.
    pub all_blocks: usize,
    /// Branch edges taken.
    pub edges: usize,
    /// All branch edges.
    pub all_edges: usize,
}

impl Kernel {
    /// How much of the kernel was reached.
    pub fn reached(&self) -> Reached {
        let edges = self
            .branches
            .iter()
            .flat_map(|&(_, fell_through, jumped)| [fell_through, jumped])
            .filter(|count| *count > 0)
            .count();
        let blocks = self.blocks.iter().filter(|count| **count > 0).count();
        Reached { blocks, all_blocks: self.blocks.len(), edges, all_edges: 2 * self.branches.len() }
    }

    fn merge(&mut self, other: &Self) {
        self.launches = self.launches.saturating_add(other.launches);
        // Another build of the kernel has other blocks: keep the newer counts.
        if (self.blocks.len(), self.branches.len()) != (other.blocks.len(), other.branches.len()) {
            (self.blocks, self.branches) = (other.blocks.clone(), other.branches.clone());
            return;
        }
        self.blocks.iter_mut().zip(&other.blocks).for_each(|(mine, theirs)| *mine = mine.saturating_add(*theirs));
        for (mine, theirs) in self.branches.iter_mut().zip(&other.branches) {
            mine.1 = mine.1.saturating_add(theirs.1);
            mine.2 = mine.2.saturating_add(theirs.2);
        }
    }
}

impl Coverage {
    /// Whether no simulated device executed anything.
    pub fn is_empty(&self) -> bool {
        self.loaded.is_empty()
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        for (file, names) in &other.loaded {
            self.loaded.entry(file.clone()).or_default().extend(names.iter().cloned());
        }
        for (name, kernel) in &other.kernels {
            self.kernels.entry(name.clone()).or_default().merge(kernel);
        }
    }

    /// Adds counts from their text form: lines of tab-separated fields, as the simulated device writes them.
    pub fn read(&mut self, text: &str) -> Result<(), String> {
        for line in text.lines() {
            self.line(line).ok_or_else(|| format!("`{line}` is not a line of coverage"))?;
        }
        Ok(())
    }

    fn line(&mut self, line: &str) -> Option<()> {
        match line.split('\t').collect::<Vec<_>>().as_slice() {
            ["loaded", file, names] => {
                self.loaded.entry((*file).to_string()).or_default().extend(names.split(',').map(String::from));
            }
            ["kernel", file, name, launches, blocks, branches] => {
                let fields = |list: &str| list.split(',').filter(|field| !field.is_empty()).map(String::from).collect();
                let (blocks, branches): (Vec<String>, Vec<String>) = (fields(blocks), fields(branches));
                let branch = |field: &String| {
                    let mut numbers = field.split(':');
                    let line = numbers.next()?.parse().ok()?;
                    Some((line, numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
                };
                let kernel = Kernel {
                    launches: launches.parse().ok()?,
                    blocks: blocks.iter().map(|field| field.parse().ok()).collect::<Option<_>>()?,
                    branches: branches.iter().map(branch).collect::<Option<_>>()?,
                };
                self.kernels.entry(((*file).to_string(), (*name).to_string())).or_default().merge(&kernel);
            }
            _ => return None,
        }
        Some(())
    }

    /// The text form.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for (file, names) in &self.loaded {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let _ = writeln!(text, "loaded\t{file}\t{}", names.join(","));
        }
        for ((file, name), kernel) in &self.kernels {
            let blocks: Vec<String> = kernel.blocks.iter().map(u64::to_string).collect();
            let branches: Vec<String> = kernel
                .branches
                .iter()
                .map(|(line, fell_through, jumped)| format!("{line}:{fell_through}:{jumped}"))
                .collect();
            let (launches, blocks, branches) = (kernel.launches, blocks.join(","), branches.join(","));
            let _ = writeln!(text, "kernel\t{file}\t{name}\t{launches}\t{blocks}\t{branches}");
        }
        text
    }
}
