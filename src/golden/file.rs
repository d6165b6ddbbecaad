//! The files of golden vectors: text, one for each family of ops and of forms.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::{Deserialize, Serialize};

use crate::case::Case;
use crate::device::Hardware;
use crate::store::write_atomically;

/// Where a file was recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// The versions of `snuffer` and candle.
    pub versions: String,
    /// Whether the device only stood in for hardware. Such a file proves nothing about hardware.
    #[serde(default)]
    pub stand_in: bool,
    /// The hardware, with its capability and driver.
    pub hardware: Hardware,
}

/// A file of golden vectors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recording {
    /// Where it was recorded.
    pub recorded: Head,
    /// The results of forms by name: a hash of the operands, and the bits of each result.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub forms: BTreeMap<String, String>,
    /// Cases of ops and their results.
    #[serde(default, rename = "vector", skip_serializing_if = "Vec::is_empty")]
    pub vectors: Vec<Vector>,
}

/// A case and its result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vector {
    /// The kernels that the simulated device launches for it.
    pub kernels: Vec<String>,
    /// The result: a line for each tensor.
    pub results: Vec<String>,
    /// The case.
    pub case: Case,
}

impl Recording {
    /// Writes the file.
    pub fn keep(&self, path: &Path) -> anyhow::Result<()> {
        let what = if self.recorded.stand_in { "a stand-in for hardware" } else { "hardware" };
        let text = format!(
            "# Golden vectors, recorded on {what} by `snuffer lab golden record`.\n\n{}",
            toml::to_string(self)?
        );
        write_atomically(path, text.as_bytes())
    }

    /// Reads a file.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let named = || format!("cannot read {}", path.display());
        let mut recording: Self =
            toml::from_str(&std::fs::read_to_string(path).with_context(named)?).with_context(named)?;
        for vector in &mut recording.vectors {
            vector.case.inputs.values_mut().for_each(crate::tensor::Tensor::normalize);
            vector.case.check().with_context(named)?;
        }
        Ok(recording)
    }
}

/// The files in a folder, sorted; none if there is no such folder.
pub fn files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let named = || format!("cannot read {}", folder.display());
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(named)? {
        let path = entry.with_context(named)?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}
