//! Pages about candle's kernels: which kernels and branch edges simulated devices executed.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Campaign;
use crate::coverage::{Coverage, Kernel, Reached};
use crate::run::crate_path;

/// A source file of kernels.
#[derive(Debug, Serialize)]
pub struct Source {
    /// Its path, starting with the crate's name.
    file: String,
    /// How many kernels it has.
    all: usize,
    bar: Bar,
    /// The launched kernels.
    kernels: Vec<Launched>,
    lines: Vec<Line>,
}

/// Branch edges and blocks that were reached, and how many there are.
#[derive(Debug, Default, Serialize)]
struct Bar {
    edges: usize,
    all_edges: usize,
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
    /// The lines with a branch edge that was not taken.
    lines: Vec<u32>,
}

/// A line with a branch edge that some kernel did not take.
#[derive(Debug, Serialize)]
struct Line {
    number: u32,
    /// Branches of launched kernels on this line.
    branches: usize,
    /// Branches that never jumped.
    only_fell_through: usize,
    /// Branches that always jumped.
    only_jumped: usize,
    /// Branches that no warp reached.
    unreached: usize,
}

/// The overview.
#[derive(Debug, Serialize)]
pub struct Overview<'a> {
    /// The names of the campaigns that have coverage.
    campaigns: Vec<&'a str>,
    sources: Vec<(&'a Source, String)>,
    launched: usize,
    all: usize,
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
    total.loaded.iter().map(|(file, names)| source(file, names.len(), &kernels(file))).collect()
}

/// `coverage` with paths that start with the crate's name, so that counts from several machines add up.
pub fn in_crates(coverage: &Coverage) -> Coverage {
    let loaded = coverage.loaded.iter().map(|(file, names)| (crate_path(file), names.clone())).collect();
    let kernels = coverage.kernels.iter();
    let kernels = kernels.map(|((file, name), kernel)| ((crate_path(file), name.clone()), kernel.clone())).collect();
    Coverage { loaded, kernels }
}

fn source(file: &str, all: usize, kernels: &[(&str, &Kernel)]) -> Source {
    let launched = |&(name, kernel): &(&str, &Kernel)| Launched {
        name: name.to_string(),
        launches: kernel.launches,
        bar: bar([kernel.reached()]),
        lines: lines_with_missed_edges(kernel),
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

fn lines_with_missed_edges(kernel: &Kernel) -> Vec<u32> {
    let mut lines: Vec<u32> = kernel
        .branches
        .iter()
        .filter(|(_, fell_through, jumped)| *fell_through == 0 || *jumped == 0)
        .map(|(line, ..)| *line)
        .collect();
    lines.sort_unstable();
    lines.dedup();
    lines
}

/// The lines with branch edges that were not taken.
fn lines(kernels: &[(&str, &Kernel)]) -> Vec<Line> {
    let mut lines: BTreeMap<u32, Line> = BTreeMap::new();
    for &(line, fell_through, jumped) in kernels.iter().flat_map(|(_, kernel)| &kernel.branches) {
        let empty = Line { number: line, branches: 0, only_fell_through: 0, only_jumped: 0, unreached: 0 };
        let counts = lines.entry(line).or_insert(empty);
        counts.branches += 1;
        match (fell_through > 0, jumped > 0) {
            (true, true) => {}
            (true, false) => counts.only_fell_through += 1,
            (false, true) => counts.only_jumped += 1,
            (false, false) => counts.unreached += 1,
        }
    }
    lines.into_values().filter(|line| line.only_fell_through + line.only_jumped + line.unreached > 0).collect()
}

/// The overview of `sources`, which `campaigns` executed.
pub fn page<'a>(campaigns: &'a [Campaign], sources: &'a [Source]) -> Overview<'a> {
    let mut bar = Bar::default();
    for source in sources {
        bar.add(&source.bar);
    }
    let covered = campaigns.iter().filter(|campaign| !campaign.coverage.is_empty());
    Overview {
        campaigns: covered.map(|campaign| campaign.name.as_str()).collect(),
        sources: sources.iter().map(|source| (source, source.path())).collect(),
        launched: sources.iter().map(|source| source.kernels.len()).sum(),
        all: sources.iter().map(|source| source.all).sum(),
        bar,
    }
}

fn bar(parts: impl IntoIterator<Item = Reached>) -> Bar {
    let mut bar = Bar::default();
    for Reached { blocks, all_blocks, edges, all_edges } in parts {
        bar.add(&Bar { edges, all_edges, blocks, all_blocks, percent: 0 });
    }
    bar
}

impl Bar {
    fn add(&mut self, other: &Self) {
        self.edges += other.edges;
        self.all_edges += other.all_edges;
        self.blocks += other.blocks;
        self.all_blocks += other.all_blocks;
        // Rounded down: a bar is full only if everything was reached.
        self.percent = (100 * self.edges).checked_div(self.all_edges).unwrap_or(0);
    }
}
