//! Edited kernels of a checkout of candle: which files are edited, their PTX, and the ops that launch them.
//!
//! The worker is not built again. It asks its driver to load candle's own modules, and the simulated device's driver loads
//! the edited ones instead.

mod compile;
mod entries;
mod launching;
mod sources;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::candles::{digest, files};
use crate::device::Device;
use crate::exec::environment::made_in;
use crate::exec::{EditedKernels, pool};
use crate::store::write_atomically;
use compile::Compiler;
use entries::{Entries, entries, refuse_other_parameters};
use sources::Sources;

pub use launching::launching;
pub use sources::{folder, original};

/// Kernels that cannot be used, and why.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    /// They cannot be read or compiled.
    #[error("{0}")]
    Sources(String),
    /// The worker would launch one with the wrong parameters.
    #[error("{0}")]
    OtherParameters(String),
}

/// What is edited in a folder of kernels.
#[derive(Debug)]
pub struct Edits {
    /// What to run. `None` if no module is edited.
    pub kernels: Option<Arc<EditedKernels>>,
    /// All kernels of candle's own modules in whose place edited ones are loaded.
    pub replaced: BTreeSet<String>,
    /// Edited files that the worker does not load, with the reason, a line each.
    pub ignored: Vec<String>,
}

impl Edits {
    /// Compares the kernels in the folder `named` with those of the release under test, and compiles those that differ for the
    /// worker of `device`. What was compiled before is not compiled again.
    pub fn compile(named: &Path, device: Device) -> anyhow::Result<Self> {
        let (own, theirs) = (Sources::read(&original()?)?, Sources::read(&folder(named)?)?);
        let files = own.edited(&theirs)?;
        let ignored = own.ignored(&theirs);
        if files.is_empty() {
            return Ok(Self { kernels: None, replaced: BTreeSet::new(), ignored });
        }
        let compiler = Compiler::find(device)?;
        let cache = made_in("kernels")?;
        // Of each file candle's own, too: it says which module to replace, and what the worker passes to its kernels.
        let jobs: Vec<(&Sources, &String)> = files.iter().flat_map(|file| [(&theirs, file), (&own, file)]).collect();
        let compiled = each(&jobs, |(sources, file)| compiler.ptx(&cache, sources, file))?;
        let (mut modules, mut replaced) = (BTreeMap::new(), BTreeSet::new());
        for (file, pair) in files.iter().zip(compiled.chunks(2)) {
            let [own, new]: [Entries; 2] = [entries(&pair[1].ptx), entries(&pair[0].ptx)];
            refuse_other_parameters(file, &own, &new)?;
            let names: Vec<&str> = own.keys().map(String::as_str).collect();
            modules.insert(file.replace(".cu", ".ptx"), format!("// replaces {}\n{}", names.join(" "), pair[0].ptx));
            replaced.extend(own.into_keys());
        }
        let digest = digest(compiled.iter().map(|one| one.key.as_bytes()));
        let folder = cache.join(&digest);
        for (name, text) in modules {
            let path = folder.join(name);
            if !path.exists() {
                write_atomically(&path, text.as_bytes())?;
            }
        }
        let kernels = EditedKernels { sources: std::path::absolute(named)?, files, digest, compiled: folder };
        Ok(Self { kernels: Some(Arc::new(kernels)), replaced, ignored })
    }
}

/// The results of `work` on each of `jobs`, as many at a time as there are processors.
fn each<J: Copy + Sync, T: Send>(jobs: &[J], work: impl Fn(J) -> anyhow::Result<T> + Sync) -> anyhow::Result<Vec<T>> {
    let next = std::sync::atomic::AtomicUsize::new(0);
    let claim = || {
        let number = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        (number < jobs.len()).then_some(number as u64)
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(jobs.len());
    pool::each(threads, claim, || Ok(()), |(), number| work(jobs[number as usize]).map(Some), |()| Ok(()))
}

/// The stamps of all files in a folder of kernels: others, once one is saved.
pub fn stamps(folder: &Path) -> Vec<(PathBuf, Option<std::time::SystemTime>)> {
    let files = files(folder).unwrap_or_default();
    files.into_iter().map(|path| (path.clone(), path.metadata().and_then(|it| it.modified()).ok())).collect()
}
