//! Compiles kernels to PTX, as candle-kernels' build does, and keeps what was compiled.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use super::Unusable;
use super::sources::Sources;
use crate::candles::digest;
use crate::device::Device;
use crate::exec::environment::{architecture, nvcc};
use crate::store::write_atomically;

/// The options of candle-kernels' `build.rs` and of cudaforge, which it uses.
const OPTIONS: [&str; 6] = ["--ptx", "--default-stream", "per-thread", "--expt-relaxed-constexpr", "-std=c++17", "-O3"];

/// The folder in which copies are compiled. The PTX names it as the place of each instruction. It ends as the crate's own folder
/// does, so that a failure in an edited file has the same signature as one in candle's file.
const FOLDER: &str = "candle-kernels/src";

/// nvcc, with the options for a worker.
pub struct Compiler {
    nvcc: PathBuf,
    options: Vec<String>,
    /// What `nvcc --version` prints.
    version: Vec<u8>,
}

/// A file that was compiled.
#[derive(Debug)]
pub struct Compiled {
    /// What it was compiled from and how, as a digest.
    pub key: String,
    /// Its PTX.
    pub ptx: String,
}

impl Compiler {
    /// The compiler for the kernels of `device`'s worker.
    pub fn find(device: Device) -> anyhow::Result<Self> {
        let nvcc = nvcc().map_err(|problem| Unusable::Sources(format!("{problem:#}")))?;
        let version = Command::new(&nvcc).arg("--version").output();
        let version = version.with_context(|| format!("cannot run {}", nvcc.display()))?.stdout;
        let architecture = architecture(device);
        let mut options = vec![format!("-gencode=arch=compute_{architecture},code=sm_{architecture}")];
        options.extend(OPTIONS.map(str::to_string));
        Ok(Self { nvcc, options, version })
    }

    /// The PTX of `file`: from `cache`, if the same was compiled before.
    pub fn ptx(&self, cache: &Path, sources: &Sources, file: &str) -> anyhow::Result<Compiled> {
        let files = sources.of(file);
        let options = self.options.iter().map(String::as_bytes);
        let parts = files.iter().flat_map(|(name, text)| [name.as_bytes(), text]);
        let key = digest([self.version.as_slice()].into_iter().chain(options).chain(parts));
        let kept = cache.join(format!("{}-{key}.ptx", file.trim_end_matches(".cu")));
        if let Ok(ptx) = std::fs::read_to_string(&kept) {
            return Ok(Compiled { key, ptx });
        }
        let ptx = self.compile(sources, file)?;
        write_atomically(&kept, ptx.as_bytes())?;
        Ok(Compiled { key, ptx })
    }

    /// Compiles a copy of `file`.
    fn compile(&self, sources: &Sources, file: &str) -> anyhow::Result<String> {
        let temporary = tempfile::Builder::new().prefix("snuffer-nvcc-").tempdir().context("cannot make a folder")?;
        let folder = temporary.path().join(FOLDER);
        for (name, text) in sources.of(file) {
            write_atomically(&folder.join(name), text)?;
        }
        let mut nvcc = Command::new(&self.nvcc);
        nvcc.args(&self.options).arg("--output-directory").arg(temporary.path()).arg(folder.join(file));
        let output = nvcc.output().with_context(|| format!("cannot run {}", self.nvcc.display()))?;
        if !output.status.success() {
            // It names the copies.
            let said = [output.stdout, output.stderr].concat();
            let said =
                String::from_utf8_lossy(&said).replace(&*folder.to_string_lossy(), &sources.folder.to_string_lossy());
            return Err(Unusable::Sources(format!("{file} does not compile\n{}", said.trim())).into());
        }
        let ptx = temporary.path().join(file).with_extension("ptx");
        std::fs::read_to_string(&ptx).with_context(|| format!("nvcc wrote no {}", ptx.display()))
    }
}
