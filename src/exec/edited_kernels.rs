//! Edited kernels, which simulated devices load in place of candle's own.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The edited kernels of a checkout.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EditedKernels {
    /// The folder of their sources, as `--kernels` takes it.
    pub sources: PathBuf,
    /// The files that are edited, or include one that is.
    pub files: Vec<String>,
    /// A digest of all that was compiled, and of how.
    pub digest: String,
    /// The folder of their PTX, as `SNUFFER_SIM_KERNELS` takes it.
    #[serde(skip)]
    pub compiled: PathBuf,
}

impl fmt::Display for EditedKernels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} (digest {})", self.files.join(", "), self.sources.display(), self.digest)
    }
}

impl EditedKernels {
    /// Whether two campaigns or findings are of the same kernels; `None` are candle's own.
    pub fn same(one: Option<&Self>, other: Option<&Self>) -> bool {
        one.map(|it| &it.digest) == other.map(|it| &it.digest)
    }

    /// The kernels in words.
    pub fn described(kernels: Option<&Self>) -> String {
        kernels.map_or_else(|| "candle's own kernels".to_string(), |edited| format!("the edited {edited}"))
    }
}
