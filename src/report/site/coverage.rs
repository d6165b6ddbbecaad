//! Pages about candle's kernels: which of them, and which ways of their branches, simulated devices executed.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Campaign;
use crate::coverage::{Coverage, Kernel, Reached};
use crate::run::crate_path;

/// A source file of kernels.
#[derive(Debug, Serialize)]
pub struct Source {
    /// Its path from the crate on.
    file: String,
    /// How many kernels it has.
    all: u64,
    bar: Bar,
    /// Those that were launched.
    kernels: Vec<Launched>,
    lines: Vec<Line>,
}

/// Ways of branches that were taken, of all.
#[derive(Debug, Default, Serialize)]
struct Bar {
    ways: usize,
    all_ways: usize,
    blocks: usize,
    all_blocks: usize,
    percent: usize,
}

/// A kernel that was launched.
#[derive(Debug, Serialize)]
struct Launched {
    name: String,
    launches: u64,
    bar: Bar,
    /// The lines of branches that went one way only, or were not reached.
    lines: Vec<u32>,
}

/// A line with a branch that some kernel did not take both ways.
#[derive(Debug, Serialize)]
struct Line {
    number: u32,
    /// Branches of launched kernels on this line.
    branches: usize,
    /// Those that warps went on from and never away.
    only_on: usize,
    /// Those that warps went away from and never on.
    only_away: usize,
    /// Those that no warp came to.
    unreached: usize,
}

/// The overview.
#[derive(Debug, Serialize)]
pub struct Overview<'a> {
    sources: Vec<(&'a Source, String)>,
    launched: usize,
    all: u64,
    bar: Bar,
}

impl Source {
    /// The path of its page.
    pub fn path(&self) -> String {
        format!("coverage/{}.html", self.file.replace('/', "-"))
    }
}

/// What all campaigns executed, by source file.
pub fn sources(campaigns: &[Campaign]) -> Vec<Source> {
    let mut total = Coverage::default();
    for campaign in campaigns {
        total.merge(&in_crates(&campaign.coverage));
    }
    let kernels = |file: &String| -> Vec<(&str, &Kernel)> {
        let own = total.kernels.iter().filter(|((of, _), _)| of == file);
        own.map(|((_, name), kernel)| (name.as_str(), kernel)).collect()
    };
    total.modules.iter().map(|(file, &all)| source(file, all, &kernels(file))).collect()
}

/// The same with paths from the crate on, so that what several machines counted is of one file.
pub fn in_crates(coverage: &Coverage) -> Coverage {
    let modules = coverage.modules.iter().map(|(file, &count)| (crate_path(file), count)).collect();
    let kernels = coverage.kernels.iter();
    let kernels = kernels.map(|((file, name), kernel)| ((crate_path(file), name.clone()), kernel.clone())).collect();
    Coverage { modules, kernels }
}

fn source(file: &str, all: u64, kernels: &[(&str, &Kernel)]) -> Source {
    let launched = |&(name, kernel): &(&str, &Kernel)| Launched {
        name: name.to_string(),
        launches: kernel.launches,
        bar: bar([kernel.reached()]),
        lines: one_way(kernel),
    };
    let kernel = |&(_, kernel): &(&str, &Kernel)| kernel.reached();
    Source {
        file: file.to_string(),
        all,
        bar: bar(kernels.iter().map(kernel)),
        kernels: kernels.iter().map(launched).collect(),
        lines: lines(kernels),
    }
}

fn one_way(kernel: &Kernel) -> Vec<u32> {
    let mut lines: Vec<u32> =
        kernel.branches.iter().filter(|(_, on, away)| *on == 0 || *away == 0).map(|(line, ..)| *line).collect();
    lines.sort_unstable();
    lines.dedup();
    lines
}

/// The lines whose branches were not all taken both ways.
fn lines(kernels: &[(&str, &Kernel)]) -> Vec<Line> {
    let mut lines: BTreeMap<u32, Line> = BTreeMap::new();
    for &(line, on, away) in kernels.iter().flat_map(|(_, kernel)| &kernel.branches) {
        let empty = Line { number: line, branches: 0, only_on: 0, only_away: 0, unreached: 0 };
        let counts = lines.entry(line).or_insert(empty);
        counts.branches += 1;
        match (on > 0, away > 0) {
            (true, true) => {}
            (true, false) => counts.only_on += 1,
            (false, true) => counts.only_away += 1,
            (false, false) => counts.unreached += 1,
        }
    }
    lines.into_values().filter(|line| line.only_on + line.only_away + line.unreached > 0).collect()
}

/// The overview of `sources`.
pub fn page(sources: &[Source]) -> Overview<'_> {
    let mut bar = Bar::default();
    for source in sources {
        bar.add(&source.bar);
    }
    Overview {
        sources: sources.iter().map(|source| (source, source.path())).collect(),
        launched: sources.iter().map(|source| source.kernels.len()).sum(),
        all: sources.iter().map(|source| source.all).sum(),
        bar,
    }
}

fn bar(parts: impl IntoIterator<Item = Reached>) -> Bar {
    let mut bar = Bar::default();
    for Reached { blocks, all_blocks, ways, all_ways } in parts {
        bar.add(&Bar { ways, all_ways, blocks, all_blocks, percent: 0 });
    }
    bar
}

impl Bar {
    fn add(&mut self, other: &Self) {
        self.ways += other.ways;
        self.all_ways += other.all_ways;
        self.blocks += other.blocks;
        self.all_blocks += other.all_blocks;
        // A bar is full only where everything was reached.
        self.percent = (100 * self.ways).checked_div(self.all_ways).unwrap_or(0);
    }
}
