//! What was executed of the kernels of a device.

use super::{Device, Function, FunctionId};
use crate::coverage::{self, Branch, KernelCoverage};
use crate::warp::Counters;

impl Device {
    /// How often each branch of a kernel was not taken, and taken, since the last call.
    pub fn new_counts(&mut self, function: FunctionId) -> impl Iterator<Item = u64> {
        let Function { counters: Counters { branches, .. }, counted, .. } = &mut self.functions[function.0];
        counted.resize(2 * branches.len(), 0);
        let totals = branches.iter().flatten();
        totals.zip(counted).map(|(&total, before)| total - std::mem::replace(before, total))
    }

    /// What was executed of every kernel of every module ever loaded, by file and name.
    pub fn coverage(&self) -> Vec<KernelCoverage> {
        let mut all = self.past.clone();
        for executed in (0..self.modules.len()).flat_map(|module| self.executed(module)) {
            coverage::add(&mut all, executed);
        }
        all.into_values().collect()
    }

    /// What was executed of a loaded module.
    pub(super) fn executed(&self, module: usize) -> Vec<KernelCoverage> {
        let Some(Some(loaded)) = self.modules.get(module) else { return Vec::new() };
        let file = loaded.module.files.get(&1).cloned().unwrap_or_default();
        let entries = loaded.module.functions.values().filter(|function| function.entry);
        let function = |name: &String| loaded.kernels.get(name).map(|id| &self.functions[id.0]);
        entries.map(|entry| covered(&entry.name, &file, function(&entry.name))).collect()
    }
}

fn covered(name: &str, file: &str, function: Option<&Function>) -> KernelCoverage {
    let (kernel, file) = (name.to_string(), file.to_string());
    let Some(Function { counters, kernel: Some(Ok(decoded)), .. }) = function else {
        return KernelCoverage { kernel, file, launches: 0, blocks: Vec::new(), branches: Vec::new() };
    };
    let branches = decoded.branches.iter().zip(&counters.branches);
    KernelCoverage {
        kernel,
        file,
        launches: counters.launches,
        blocks: counters.blocks.clone(),
        branches: branches.map(|(source, &counts)| Branch { line: source.line, counts }).collect(),
    }
}
