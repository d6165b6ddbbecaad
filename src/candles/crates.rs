//! The crates of another candle, as they are to be built.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use toml::{Table, Value};
use walkdir::WalkDir;

use super::functions::lines_of;
use super::registry::{fetched, released};
use super::{CRATES, KERNELS, Unusable, digest};
use crate::CANDLE;
use crate::oracle::Functions;

/// A crate: what is built of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Crate {
    /// Its manifest, as it is.
    pub manifest: Table,
    /// The other files at its top and all below `src`, by path.
    pub files: BTreeMap<String, Vec<u8>>,
}

impl Crate {
    /// Reads it once: what is built is what was compared, even if somebody saves meanwhile.
    pub fn read(folder: &Path) -> anyhow::Result<Self> {
        let mut read = BTreeMap::new();
        let top = files_within(folder, 1)?;
        let is_of_interest = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default();
            !name.as_encoded_bytes().starts_with(b".") && name != "Cargo.toml"
        };
        for path in top.into_iter().filter(is_of_interest).chain(files(&folder.join("src"))?) {
            let inside = path.strip_prefix(folder)?.to_string_lossy().into_owned();
            read.insert(inside, fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?);
        }
        Ok(Self { manifest: manifest(folder)?, files: read })
    }

    /// The files as they are built. candle-kernels' build script names no headers to cudaforge, which compiles a kernel again only if
    /// its own file differs: so each file of kernels ends with a digest of all headers.
    pub fn to_build(&self) -> impl Iterator<Item = (&String, Vec<u8>)> {
        let ends = |path: &str, ends: &[&str]| ends.iter().any(|end| path.ends_with(end));
        let headers = self.files.iter().filter(|(path, _)| ends(path, &[".cuh", ".h"]));
        let mark = format!("\n// Headers: {}\n", digest(headers.map(|(_, text)| text.as_slice())));
        self.files.iter().map(move |(path, text)| {
            let mark = if ends(path, &[".cu"]) { mark.as_bytes() } else { b"" };
            (path, [text, mark].concat())
        })
    }

    /// The files that are compiled, in order.
    fn compiled(&self) -> impl Iterator<Item = (&String, &Vec<u8>)> {
        self.files.iter().filter(|(path, _)| path.starts_with("src/") || *path == "build.rs")
    }
}

/// The crates of another candle. Those that it has not are of its release, or of the release under test.
#[derive(Debug, Default)]
pub struct Crates {
    /// The folder that they are from, as a person named it; none for a release.
    pub root: Option<PathBuf>,
    /// The version of candle.
    pub version: String,
    /// The crates, by name.
    pub own: BTreeMap<String, Crate>,
    /// What their manifests inherit.
    pub workspace: Table,
    /// True if they are built with the feature `cudnn`.
    pub cudnn: bool,
}

impl Crates {
    /// The crates in folders of `root`: those that a worker has, and what they need of the same repository.
    pub fn read(root: &Path) -> anyhow::Result<Self> {
        let root_manifest = if root.join("Cargo.toml").is_file() { manifest(root)? } else { Table::new() };
        let workspace = root_manifest.get("workspace").and_then(Value::as_table).cloned().unwrap_or_default();
        let inherited = workspace.get("dependencies").and_then(Value::as_table).cloned().unwrap_or_default();
        let mut own: BTreeMap<String, Crate> = BTreeMap::new();
        let mut queue: Vec<String> = CRATES.map(str::to_string).to_vec();
        while let Some(name) = queue.pop() {
            let folder = root.join(&name);
            if own.contains_key(&name) || !folder.join("Cargo.toml").is_file() {
                continue;
            }
            let read = Crate::read(&folder)?;
            queue.extend(dependencies(&read.manifest).map(|(key, spec)| package_of(key, spec, &inherited)));
            own.insert(name, read);
        }
        let core = own.get("candle-core").map(|core| version(&core.manifest, &workspace));
        // Cargo then finds what is compiled.
        for name in CRATES {
            let is_as_released = |one: &Crate| {
                let released = Crate::read(&released(name)?)?;
                anyhow::Ok(if name == KERNELS { released.compiled().eq(one.compiled()) } else { released == *one })
            };
            if own.get(name).map(is_as_released).transpose()? == Some(true) {
                own.remove(name);
            }
        }
        let version = core.unwrap_or_else(|| CANDLE.to_string());
        Ok(Self { root: Some(root.to_path_buf()), version, own, workspace, cudnn: false })
    }

    /// Whether nothing differs from the release under test.
    pub fn is_release_under_test(&self) -> bool {
        self.version == CANDLE && self.own.is_empty() && !self.cudnn
    }

    /// Whether CUDA kernels differ from those of the release under test, and nothing else of their crate does: each file is in both, and
    /// only code of kernels is another.
    pub fn differs_in_kernels_alone(&self) -> anyhow::Result<bool> {
        let Some(own) = self.own.get(KERNELS).filter(|_| !self.cudnn) else { return Ok(false) };
        let released = Crate::read(&released(KERNELS)?)?;
        let is_kernel = |path: &str| [".cu", ".cuh", ".h"].iter().any(|end| path.ends_with(end));
        let is_same = |(path, new): (&String, &Vec<u8>), (other, old): (&String, &Vec<u8>)| {
            path == other && (new == old || is_kernel(path))
        };
        Ok(own.compiled().count() == released.compiled().count()
            && own.compiled().zip(released.compiled()).all(|(one, other)| is_same(one, other)))
    }

    /// The crate of this name: its own, or that of its release.
    pub fn get(&self, name: &str) -> anyhow::Result<Crate> {
        // What a folder lacks or has as released is the release under test's.
        let version = if self.root.is_some() { CANDLE } else { &self.version };
        self.own.get(name).map_or_else(|| Crate::read(&fetched(name, version)?), |own| Ok(own.clone()))
    }

    /// The functions of the crates that are not of the release under test.
    pub fn functions(&self) -> anyhow::Result<Functions> {
        let mut table = String::new();
        let mut add = |name: &str, path: &str, bytes: &[u8]| {
            let is_code = [".rs", ".cu", ".cuh"].iter().any(|end| path.ends_with(end)) && path.starts_with("src/");
            if is_code && let Ok(text) = std::str::from_utf8(bytes) {
                table += &lines_of(&format!("{name}/{path}"), text);
            }
        };
        for (name, one) in &self.own {
            one.files.iter().for_each(|(path, bytes)| add(name, path, bytes));
        }
        if self.root.is_none() {
            for name in CRATES {
                self.get(name)?.files.iter().for_each(|(path, bytes)| add(name, path, bytes));
            }
        }
        Ok(Functions::parse(&table))
    }

    /// A digest of all that is another candle's.
    pub fn digest(&self) -> String {
        let texts: Vec<String> = self
            .own
            .iter()
            .map(|(name, one)| format!("{name} {}", one.manifest))
            .chain([self.workspace.to_string()])
            .chain(self.cudnn.then(|| "cudnn".to_string()))
            .collect();
        let files = self.own.values().flat_map(|one| &one.files).flat_map(|(path, bytes)| [path.as_bytes(), bytes]);
        digest([self.version.as_bytes()].into_iter().chain(texts.iter().map(String::as_bytes)).chain(files))
    }
}

/// The version of a crate, which may be that of its workspace.
fn version(manifest: &Table, workspace: &Table) -> String {
    let of = |table: &Table| Some(table.get("package")?.get("version")?.as_str()?.to_string());
    of(manifest).or_else(|| of(workspace)).unwrap_or_else(|| CANDLE.to_string())
}

fn manifest(folder: &Path) -> anyhow::Result<Table> {
    let path = folder.join("Cargo.toml");
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(text.parse().map_err(|error| Unusable(format!("{}: {error}", path.display())))?)
}

/// The regular files in `folder` and below, sorted. Links are followed, but not in circles. Sources fit into memory: more than
/// `LARGEST` bytes of files are an error.
pub fn files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    files_within(folder, DEPTH)
}

fn files_within(folder: &Path, depth: usize) -> anyhow::Result<Vec<PathBuf>> {
    let (mut found, mut size) = (Vec::new(), 0_u64);
    for entry in WalkDir::new(folder).follow_links(true).max_depth(depth) {
        match entry {
            Ok(entry) if entry.file_type().is_file() => {
                size = size.saturating_add(entry.metadata()?.len());
                if size > LARGEST {
                    let file = entry.path().display();
                    let problem = format!("with {file}, its files have more than {} MiB", LARGEST >> 20);
                    return Err(Unusable(format!("{}: {problem}", folder.display())).into());
                }
                found.push(entry.into_path());
            }
            Ok(_) => {}
            Err(circle) if circle.loop_ancestor().is_some() => {}
            Err(problem) => return Err(problem.into()),
        }
    }
    found.sort();
    Ok(found)
}

/// How deep folders of sources are in each other at most.
const DEPTH: usize = 32;

/// How many bytes the files of a folder of sources have at most: candle-core has one MiB.
const LARGEST: u64 = 256 << 20;

/// The dependencies that a manifest lists, also those of some platforms and of its build script.
pub fn dependencies(manifest: &Table) -> impl Iterator<Item = (&String, &Value)> {
    let targets = manifest.get("target").and_then(Value::as_table).into_iter().flatten();
    let tables = targets.filter_map(|(_, target)| target.as_table()).chain([manifest]);
    let lists = tables.flat_map(|table| ["dependencies", "build-dependencies"].map(|kind| table.get(kind)));
    lists.flatten().filter_map(Value::as_table).flatten()
}

/// The package that a dependency is: a name of its own may be inherited from the workspace.
pub fn package_of(key: &str, spec: &Value, inherited: &Table) -> String {
    let named = |spec: &Value| Some(spec.get("package")?.as_str()?.to_string());
    named(spec).or_else(|| inherited.get(key).and_then(named)).unwrap_or_else(|| key.to_string())
}
