//! The sources of candle that are changed, and the changed copies.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::find;
use super::site::Site;
use super::weave::{Woven, weave};
use crate::compiler::CompileError;
use crate::sources::{candle, copy, rust_files, write_if_new};

/// What asks for a switch, written into the copy of candle-core.
const SWITCH: &str = include_str!("switch.rs");

/// The crates that are changed, how each names the module of switches, and the sources and folders that no case of an op reaches:
/// files, printing, other platforms and backends, quantized formats, vector instructions.
const CRATES: [(&str, &str, &[&str]); 2] = [
    (
        "candle-core",
        "crate",
        &[
            "accelerate.rs",
            "cpu/avx.rs",
            "cpu/features.rs",
            "cpu/mod.rs",
            "cpu/neon.rs",
            "cpu/simd128.rs",
            "cuda_backend/cudnn.rs",
            "cuda_backend/cutile.rs",
            "cuda_backend/error.rs",
            "display.rs",
            "dummy_cuda_backend.rs",
            "dummy_dtype.rs",
            "dummy_metal_backend.rs",
            "error.rs",
            "lib.rs",
            "metal_backend/",
            "mkl.rs",
            "npy.rs",
            "pickle.rs",
            "quantized/",
            "safetensors.rs",
            "streaming.rs",
            "test_utils.rs",
        ],
    ),
    ("candle-nn", "candle", &["lib.rs", "moe/cutile.rs", "sampling.rs", "var_builder.rs", "var_map.rs"]),
];

/// A source and its sites.
pub struct Source {
    /// Its path, from the crate's name on.
    pub place: String,
    /// Its text.
    pub text: String,
    /// The changes that can be made to it.
    pub sites: Vec<Site>,
    switched: String,
}

/// The folder in which candle's crates are copied, below that of all that belongs to host mutants.
pub fn copies(folder: &Path) -> PathBuf {
    folder.join("workspace")
}

/// Finds the sites of all sources, with those of candle's CUDA backend or without.
pub fn read(with_cuda: bool) -> anyhow::Result<Vec<Source>> {
    let mut all = Vec::new();
    for ((name, root, excluded), folder) in CRATES.iter().zip(candle()?) {
        for file in rust_files(&folder.join("src"))? {
            let path = file.strip_prefix(folder.join("src"))?.to_string_lossy().into_owned();
            let is_cuda = path.starts_with("cuda_backend/");
            if (is_cuda && !with_cuda) || excluded.iter().any(|excluded| path.starts_with(excluded)) {
                continue;
            }
            let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
            let sites = find::sites(&text).with_context(|| format!("cannot parse {}", file.display()))?;
            let switched = format!("{root}::host_mutants::switched");
            all.push(Source { place: format!("{name}/src/{path}"), text, sites, switched });
        }
    }
    Ok(all)
}

/// Copies candle's crates, without their tests and examples.
pub fn copy_crates(folder: &Path) -> anyhow::Result<()> {
    for ((name, ..), from) in CRATES.iter().zip(candle()?) {
        let to = folder.join(name);
        copy(&from.join("src"), &to.join("src"))?;
        let mut manifest: toml::Table = fs::read_to_string(from.join("Cargo.toml"))?.parse()?;
        for key in ["example", "bench", "test", "dev-dependencies"] {
            manifest.remove(key);
        }
        fs::write(to.join("Cargo.toml"), manifest.to_string())?;
    }
    Ok(())
}

/// All sources with changes woven in. Mutants are numbered through them.
pub struct Weaving<'a> {
    woven: Vec<(&'a Source, Vec<&'a Site>, Woven)>,
}

impl<'a> Weaving<'a> {
    /// Weaves all sites in but those whose keys are `left_out`.
    pub fn new(sources: &'a [Source], left_out: &BTreeSet<String>) -> Self {
        let mut first = 0;
        let weave = |source: &'a Source| {
            let sites: Vec<&Site> = source.sites.iter().filter(|site| !left_out.contains(&key(source, site))).collect();
            let woven = weave(&source.text, &sites, first, &source.switched);
            first += sites.len();
            (source, sites, woven)
        };
        Self { woven: sources.iter().map(weave).collect() }
    }

    /// How many mutants there are.
    pub fn count(&self) -> usize {
        self.mutants().count()
    }

    /// The mutants, by number.
    pub fn mutants(&self) -> impl Iterator<Item = (&'a Source, &'a Site)> {
        self.woven.iter().flat_map(|(source, sites, _)| sites.iter().map(move |site| (*source, *site)))
    }

    /// Writes the changed sources and the switches into the copies.
    pub fn write(&self, folder: &Path) -> anyhow::Result<()> {
        let copies = copies(folder);
        for (source, _, woven) in &self.woven {
            write_if_new(&copies.join(&source.place), &woven.text)?;
        }
        let core = copies.join("candle-core/src");
        write_if_new(&core.join("host_mutants.rs"), SWITCH)?;
        let (core_root, nn_root) = (candle()?[0].join("src/lib.rs"), candle()?[1].join("src/lib.rs"));
        // What changes make superfluous, such as parentheses, is no matter. On the first line, so that lines stay.
        let quiet = "#![allow(warnings)] ";
        let root = format!("{quiet}{}\n#[doc(hidden)]\npub mod host_mutants;\n", fs::read_to_string(core_root)?);
        write_if_new(&core.join("lib.rs"), &root)?;
        let root = format!("{quiet}{}", fs::read_to_string(nn_root)?);
        write_if_new(&copies.join("candle-nn/src/lib.rs"), &root)
    }

    /// The key of the change to blame for an error.
    pub fn blamed(&self, folder: &Path, error: &CompileError) -> Option<String> {
        let copies = copies(folder);
        error.places.iter().find_map(|(file, place)| {
            let of_file = |(source, ..): &&(&Source, Vec<&Site>, Woven)| copies.join(&source.place) == *file;
            let (source, sites, woven) = self.woven.iter().find(of_file)?;
            Some(key(source, sites[woven.blamed(place)?]))
        })
    }
}

/// What identifies a change, whichever others are left out.
fn key(source: &Source, site: &Site) -> String {
    format!("{} {}..{} {}", source.place, site.range.start, site.range.end, site.change)
}
