//! All sources of a candle that a worker compiles, and what differs between those of two.

use std::collections::{BTreeMap, BTreeSet};

use super::crates::{Crate, Crates};
use super::functions::functions_of;
use super::manifest::without_superfluous;
use super::{CRATES, KERNELS};

/// Parts of candle that no worker compiles: for other processors, and behind features that workers lack.
const NEVER: [&str; 8] = ["metal_backend", "metal", "accelerate", "mkl", "neon", "simd128", "cudnn", "cutile"];

/// Parts that only workers of CUDA devices compile.
const CUDA_ONLY: [&str; 4] = ["cuda_backend", "cuda", "fast_mmq", "fast_mmvq"];

/// The files of a candle, by crate and path: `candle-core/src/op.rs`.
#[derive(Debug, Default)]
pub struct Sources {
    /// What workers are built from.
    pub compiled: BTreeMap<String, Vec<u8>>,
    /// What else the crates have.
    others: BTreeMap<String, Vec<u8>>,
}

/// What differs between two candles.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Changed {
    /// The files that workers are built from.
    pub files: BTreeSet<String>,
    /// The functions in them: file and name. Code outside of functions has an empty name.
    pub functions: BTreeSet<(String, String)>,
    /// Files that no worker compiles.
    pub others: BTreeSet<String>,
}

impl Sources {
    /// The sources of `crates`: their own, and the rest of their release. Without CUDA, no kernels.
    pub fn of(crates: &Crates, with_cuda: bool) -> anyhow::Result<Self> {
        let mut found = Self::default();
        for name in CRATES {
            if !crates.own.contains_key(name) && (with_cuda || name != KERNELS) {
                found.add(name, &crates.get(name)?, with_cuda);
            }
        }
        for (name, own) in &crates.own {
            found.add(name, own, with_cuda);
        }
        Ok(found)
    }

    fn add(&mut self, name: &str, one: &Crate, with_cuda: bool) {
        let manifest = without_superfluous(&one.manifest).to_string().into_bytes();
        self.compiled.insert(format!("{name}/Cargo.toml"), manifest);
        for (path, bytes) in &one.files {
            let is_built = (path.starts_with("src/") || path == "build.rs") && is_compiled(name, path, with_cuda);
            let files = if is_built { &mut self.compiled } else { &mut self.others };
            files.insert(format!("{name}/{path}"), bytes.clone());
        }
    }

    /// What differs from `base` to these.
    pub fn changed_since(&self, base: &Self) -> Changed {
        let mut changed = Changed {
            files: differing(&base.compiled, &self.compiled),
            others: differing(&base.others, &self.others),
            functions: BTreeSet::new(),
        };
        for file in &changed.files {
            let [old, new] =
                [base, self].map(|side| side.compiled.get(file).map_or(BTreeMap::new(), |it| bodies(file, it)));
            let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
            let differ = names.into_iter().filter(|name| old.get(*name) != new.get(*name));
            changed.functions.extend(differ.map(|name| (file.clone(), name.clone())));
        }
        changed
    }
}

/// Whether a worker compiles this file of a crate.
fn is_compiled(name: &str, path: &str, with_cuda: bool) -> bool {
    let parts: Vec<&str> = path.split('/').map(|part| part.trim_end_matches(".rs")).collect();
    let has = |names: &[&str]| parts.iter().any(|part| names.contains(part));
    !name.contains("metal") && !has(&NEVER) && (with_cuda || name != KERNELS && !has(&CUDA_ONLY))
}

fn differing(one: &BTreeMap<String, Vec<u8>>, other: &BTreeMap<String, Vec<u8>>) -> BTreeSet<String> {
    let all = one.keys().chain(other.keys());
    all.filter(|path| one.get(*path) != other.get(*path)).cloned().collect()
}

/// The code of each function of a source by name, without comments, and under an empty name the code outside of functions.
fn bodies(file: &str, bytes: &[u8]) -> BTreeMap<String, String> {
    let text = String::from_utf8_lossy(bytes);
    let lines: Vec<&str> = text.lines().collect();
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    let mut inside = vec![false; lines.len()];
    for (first, last, name) in functions_of(file, &text) {
        let own = &lines[first - 1..last.min(lines.len())];
        found.entry(name).or_default().extend(own.iter().filter_map(|line| code(line)).flat_map(|line| [line, "\n"]));
        inside[first - 1..last.min(lines.len())].fill(true);
    }
    let rest = lines.iter().zip(inside).filter(|(_, inside)| !inside).filter_map(|(line, _)| code(line));
    found.insert(String::new(), rest.flat_map(|line| [line, "\n"]).collect());
    found
}

/// A line without its indentation, unless it is empty or a comment.
fn code(line: &str) -> Option<&str> {
    Some(line.trim()).filter(|line| !line.is_empty() && !line.starts_with("//"))
}
