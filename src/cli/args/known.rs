//! The option `--known`: the regressions that define which findings are known.

use std::path::{Path, PathBuf};

use super::UsageError;
use crate::causes::KnownFailures;
use crate::store::regression::{self, Regression};

/// The regressions of a command.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct KnownArg {
    /// Folder of regressions, which define known findings. By default those built into snuffer, and those in
    /// `corpora/regressions` of this folder or the nearest above.
    #[arg(long, global = true, help_heading = "Store", display_order = 1001)]
    known: Option<PathBuf>,
}

impl KnownArg {
    /// The folder for regressions that are kept from now on.
    pub fn folder(&self) -> PathBuf {
        let nearby = || regression::nearby().unwrap_or_else(|| PathBuf::from(regression::FOLDER));
        self.known.clone().unwrap_or_else(nearby)
    }

    /// The regressions. A folder that was named must exist, and counts alone.
    pub fn regressions(&self) -> anyhow::Result<Vec<(String, Regression)>> {
        let read = match &self.known {
            Some(folder) => regression::read(folder),
            None => regression::known(regression::nearby().as_deref()),
        };
        read.map_err(|problem| UsageError(format!("{problem:#}")).into())
    }

    /// The regressions, and the causes.
    pub fn failures(&self) -> anyhow::Result<KnownFailures> {
        Ok(KnownFailures::new(self.regressions()?).map_err(UsageError)?)
    }

    /// The argument of `snuffer replay` for the regression `name`: its file, or its name if only this build has it.
    pub fn to_replay(&self, name: &str) -> String {
        let path = regression::path(&self.folder(), name);
        if Path::exists(&path) { path.display().to_string() } else { name.to_string() }
    }
}
