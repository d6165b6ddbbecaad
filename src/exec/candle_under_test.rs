//! A candle under test that is not the one this program is linked with. Only workers have it.

use std::env;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::EditedKernels;
use crate::case::Case;
use crate::oracle::Functions;
use crate::tensor::DType;

/// A candle for which workers are built.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CandleUnderTest {
    /// What `--candle` takes: a release, or the path of a checkout or of patches.
    pub named: String,
    /// Its version.
    pub version: String,
    /// A digest of its sources.
    pub digest: String,
    /// A digest of those of which workers are built: without kernels that are loaded in place of candle's.
    #[serde(skip)]
    pub built: String,
    /// The ops that its workers do not have, because it lacks what they call.
    #[serde(skip)]
    pub lacks: Vec<String>,
    /// Whether it lacks [`DType::RECENT`].
    #[serde(skip)]
    pub few_dtypes: bool,
    /// Its functions. The lines of the release under test are others.
    #[serde(skip)]
    pub functions: Functions,
    /// The folder of its workers. `None` if only its kernels differ: then those of the release under test are its workers, too.
    #[serde(skip)]
    pub workers: Option<PathBuf>,
    /// Its kernels, which simulated devices load in place of those that its workers have.
    #[serde(skip)]
    pub kernels: Option<Arc<EditedKernels>>,
}

/// How fixes of causes are named: all, or some after a colon.
pub const FIXES: &str = "fixes";

/// The suffix that asks for a candle built with its feature `cudnn`.
pub const CUDNN: &str = "+cudnn";

/// `Some(names)` for `fixes:a,b`, `Some([])` for all fixes, `None` if `named` is not `fixes`.
pub fn fixes(named: &str) -> Option<Vec<String>> {
    let names = named.strip_prefix(FIXES).filter(|names| names.is_empty() || names.starts_with(':'))?;
    Some(names.split([':', ',']).filter(|name| !name.is_empty()).map(ToString::to_string).collect())
}

/// A path as one types it here: from the current folder if it is below. A release stays as it is.
pub fn from_here(named: &str) -> String {
    let here = env::current_dir().ok();
    let below = here.and_then(|here| Path::new(named).strip_prefix(here).ok().map(|path| path.display().to_string()));
    below.filter(|path| !path.is_empty()).unwrap_or_else(|| named.to_string())
}

impl fmt::Display for CandleUnderTest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.named == self.version {
            write!(f, "candle {}", self.version)
        } else {
            write!(f, "candle {} of {} (digest {})", self.version, from_here(&self.named), self.digest)
        }
    }
}

impl CandleUnderTest {
    /// Whether two campaigns or findings are of the same candle; `None` is the release under test.
    pub fn same(one: Option<&Self>, other: Option<&Self>) -> bool {
        one.map(|it| &it.digest) == other.map(|it| &it.digest)
    }

    /// The candle in words.
    pub fn described(candle: Option<&Self>) -> String {
        candle.map_or_else(|| format!("candle {}", crate::CANDLE), ToString::to_string)
    }

    /// The version of the candle that workers have.
    pub fn version(candle: Option<&Self>) -> &str {
        candle.map_or(crate::CANDLE, |candle| &candle.version)
    }

    /// Whether it is the release under test with the fix of `cause`, if that has one.
    pub fn has_fix_of(&self, cause: &str) -> bool {
        let origin = self.named.strip_suffix(CUDNN).unwrap_or(&self.named);
        fixes(origin).is_some_and(|names| names.is_empty() || names.iter().any(|name| name == cause))
    }

    /// An op or a dtype of `case` that its workers do not have.
    pub fn lacks<'a>(&self, case: &'a Case) -> Option<&'a str> {
        let is_missing = |op: &&String| self.lacks.contains(op);
        let op = std::iter::once(&case.op).chain(&case.steps).find(is_missing).map(String::as_str);
        let dtype = || DType::RECENT.into_iter().find(|dtype| self.few_dtypes && case.has_dtype(*dtype));
        op.or_else(|| dtype().map(DType::name))
    }
}
