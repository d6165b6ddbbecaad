//! Reports threads that wait at different barriers of one warp, or forever, with every place where threads wait.

use std::collections::BTreeMap;

use super::{Machine, State, Stop, Warp};
use crate::fault::Kind;
use crate::kernel::Op;

impl Warp {
    /// The report if some threads of this warp wait for the block, and others elsewhere: all threads of a warp must reach an
    /// aligned barrier together (PTX ISA 9.7.13.1).
    pub fn diverged(&self, machine: &Machine) -> Option<Stop> {
        let waits = |state: State| state == State::Barrier;
        if self.fragments.len() < 2 || !self.fragments.iter().any(|fragment| waits(fragment.state)) {
            return None;
        }
        let first =
            self.fragments.iter().filter(|fragment| waits(fragment.state)).min_by_key(|fragment| fragment.pc)?;
        Some(Stop {
            kind: Kind::Barrier,
            lane: first.mask.trailing_zeros() as usize,
            source: machine.kernel.code[first.pc].source,
            address: None,
            detail: "Barrier error detected. Divergent thread(s) in warp".to_string(),
            near: String::new(),
            notes: waiting_places([self], machine),
        })
    }
}

/// The fault of a block in which no thread can go on; `stuck` is the first warp that does not only wait for the block.
pub fn deadlock(stuck: &Warp, warps: &[Warp], machine: &Machine) -> Stop {
    let first = stuck.fragments.first();
    Stop {
        kind: Kind::Deadlock,
        lane: first.map_or(0, |fragment| fragment.mask.trailing_zeros() as usize),
        source: first.map(|fragment| machine.kernel.code[fragment.pc].source).unwrap_or_default(),
        address: None,
        detail: "Barrier error detected. No thread of the block can go on".to_string(),
        near: String::new(),
        notes: waiting_places(warps, machine),
    }
}

/// A line for each place where threads of `warps` wait, with how many.
fn waiting_places<'a>(warps: impl IntoIterator<Item = &'a Warp>, machine: &Machine) -> Vec<String> {
    let mut threads: BTreeMap<usize, u32> = BTreeMap::new();
    for fragment in warps.into_iter().flat_map(|warp| &warp.fragments) {
        *threads.entry(fragment.pc).or_default() += fragment.mask.count_ones();
    }
    let line = |(pc, count): (usize, u32)| {
        let inst = &machine.kernel.code[pc];
        let wait = if count == 1 { "thread waits" } else { "threads wait" };
        let whom = if matches!(inst.op, Op::Barrier) { "the block" } else { "others of the warp" };
        let file = machine.module.files.get(&inst.source.file).filter(|_| inst.source.line > 0);
        let source = file.map_or(String::new(), |file| format!(" at {file}:{},", inst.source.line));
        format!("{count} {wait} for {whom}{source} in line {} of the PTX", inst.source.ptx)
    };
    threads.into_iter().map(line).collect()
}
