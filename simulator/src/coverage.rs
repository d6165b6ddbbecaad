//! Which blocks and branch edges of each kernel were executed.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// What was executed of one kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelCoverage {
    /// The kernel's name.
    pub kernel: String,
    /// The source file that its module was compiled from.
    pub file: String,
    /// How often it was launched.
    pub launches: u64,
    /// How often each block was entered; empty if the kernel was never launched.
    pub blocks: Vec<u64>,
    /// Every conditional branch.
    pub branches: Vec<Branch>,
}

impl KernelCoverage {
    /// Adds the counts of the same kernel in another module.
    pub(crate) fn add(&mut self, other: &Self) {
        if self.blocks.len() != other.blocks.len() {
            // One of them was never launched.
            if other.launches > 0 {
                *self = other.clone();
            }
            return;
        }
        self.launches += other.launches;
        self.blocks.iter_mut().zip(&other.blocks).for_each(|(mine, theirs)| *mine += theirs);
        for (mine, theirs) in self.branches.iter_mut().zip(&other.branches) {
            mine.counts = [mine.counts[0] + theirs.counts[0], mine.counts[1] + theirs.counts[1]];
        }
    }
}

/// Adds what was executed of a kernel to that of all, by file and name: a module that was loaded twice counts once.
pub(crate) fn add(all: &mut BTreeMap<(String, String), KernelCoverage>, more: KernelCoverage) {
    match all.entry((more.file.clone(), more.kernel.clone())) {
        Entry::Occupied(mut known) => known.get_mut().add(&more),
        Entry::Vacant(place) => drop(place.insert(more)),
    }
}

/// A conditional branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branch {
    /// Its line in the source, 0 if unknown.
    pub line: u32,
    /// How often some lane did not take it, and how often some lane did.
    pub counts: [u64; 2],
}
