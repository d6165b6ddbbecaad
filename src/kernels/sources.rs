//! The sources of kernels: those of the release under test, those of a checkout, and what differs.

use std::collections::BTreeMap;
use std::fs::{self, DirEntry};
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::Unusable;
use crate::CANDLE;
use crate::candles::{files, released};

/// The folder of kernels in a checkout of candle.
const IN_CHECKOUT: &str = "candle-kernels/src";

/// The folder of kernels that a user means: it, or the crate or checkout that it is in.
pub fn folder(named: &Path) -> Result<PathBuf, Unusable> {
    let is_kernel =
        |entry: std::io::Result<DirEntry>| entry.is_ok_and(|it| is_kernel(&it.file_name().to_string_lossy()));
    let has_kernels = |folder: &PathBuf| fs::read_dir(folder).is_ok_and(|mut entries| entries.any(is_kernel));
    let candidates = [named.join(IN_CHECKOUT), named.join("src"), named.to_path_buf()];
    candidates.into_iter().find(has_kernels).ok_or_else(|| {
        Unusable::Sources(format!(
            "{} has no kernels; name a checkout of candle, or its folder {IN_CHECKOUT}",
            named.display()
        ))
    })
}

/// The kernels of the release under test, as Cargo fetched them when the worker was built.
pub fn original() -> Result<PathBuf, Unusable> {
    released("candle-kernels").map(|folder| folder.join("src")).map_err(|why| Unusable::Sources(why.to_string()))
}

/// The files of a folder of kernels, by their path in it.
#[derive(Debug)]
pub struct Sources {
    /// The folder.
    pub folder: PathBuf,
    files: BTreeMap<String, Vec<u8>>,
}

impl Sources {
    /// Reads the kernels and headers of `folder`, once: what is compiled is what was compared, even if somebody saves meanwhile.
    pub fn read(folder: &Path) -> anyhow::Result<Self> {
        let mut read = BTreeMap::new();
        let is_code =
            |path: &&PathBuf| path.extension().is_some_and(|it| ["cu", "cuh", "h"].iter().any(|own| it == *own));
        for path in files(folder)?.iter().filter(is_code) {
            let inside = path.strip_prefix(folder)?.to_string_lossy().into_owned();
            read.insert(inside, fs::read(path).with_context(|| format!("cannot read {}", path.display()))?);
        }
        Ok(Self { folder: folder.to_path_buf(), files: read })
    }

    /// `file`, and the headers of the folder that it includes, and they include.
    pub fn of(&self, file: &str) -> BTreeMap<&str, &[u8]> {
        let mut found = BTreeMap::new();
        let mut queue = vec![file.to_string()];
        while let Some(name) = queue.pop() {
            let Some((name, text)) = self.files.get_key_value(&name) else { continue };
            if found.insert(name.as_str(), text.as_slice()).is_none() {
                let text = String::from_utf8_lossy(text);
                queue.extend(text.lines().filter_map(included).map(|header| beside(name, header)));
            }
        }
        found
    }

    /// The files of modules that are other ones in `theirs`, or include something else.
    pub fn edited(&self, theirs: &Self) -> Result<Vec<String>, Unusable> {
        let modules: Vec<&String> = self.files.keys().filter(|file| is_module(file)).collect();
        if let Some(missing) = modules.iter().find(|file| !theirs.files.contains_key(**file)) {
            let folder = theirs.folder.display();
            return Err(Unusable::Sources(format!(
                "{folder} has no {missing}, which candle {CANDLE} loads; put it back"
            )));
        }
        let is_edited = |file: &&&String| self.of(file) != theirs.of(file);
        Ok(modules.iter().filter(is_edited).map(|file| (*file).clone()).collect())
    }

    /// The kernels of `theirs` that differ and make no difference, with the reason.
    pub fn ignored(&self, theirs: &Self) -> Vec<String> {
        let reason = |file: &str| match self.files.get(file) {
            None => Some(format!("{file} is new: candle {CANDLE} never loads it")),
            Some(_) if !is_module(file) && self.of(file) != theirs.of(file) => {
                Some(format!("{file} is linked into the worker: its changes have no effect"))
            }
            Some(_) => None,
        };
        theirs.files.keys().filter(|file| is_kernel(file)).filter_map(|file| reason(file)).collect()
    }
}

fn is_kernel(file: &str) -> bool {
    Path::new(file).extension().is_some_and(|extension| extension == "cu")
}

/// Whether candle loads this file's kernels as a module. The other kernels are linked into the program (`build.rs` of
/// candle-kernels, `exclude`).
fn is_module(file: &str) -> bool {
    let is_linked = ["moe_", "mmvq_gguf", "mmq_"].iter().any(|prefix| file.starts_with(prefix));
    is_kernel(file) && !file.contains('/') && !is_linked
}

/// The header in quotes that a line includes.
fn included(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("include")?;
    rest.trim_start().strip_prefix('"')?.split('"').next()
}

/// The path in the folder of a header that the file `name` includes.
fn beside(name: &str, header: &str) -> String {
    let mut parts: Vec<&str> = name.split('/').collect();
    parts.pop();
    for part in header.split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}
