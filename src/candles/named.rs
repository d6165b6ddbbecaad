//! What `--candle` names: a release, a checkout of candle's repository or a part of it, patches, or fixes; with cuDNN or without.

use std::path::{Path, PathBuf};

use semver::Version;

use super::{CRATES, Unusable};
use crate::CANDLE;
use crate::exec::{CUDNN, FIXES, fixes, from_here};

/// A candle as a person names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// Where its sources are from.
    pub origin: Origin,
    /// True if it is built with its feature `cudnn`.
    pub cudnn: bool,
}

/// Where the sources of a candle are from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// A release.
    Release(Version),
    /// A folder with crates of candle in folders of their names.
    Tree(PathBuf),
    /// A patch of the release under test, or a folder of patches.
    Patches(PathBuf),
    /// The release under test with the fixes of these causes, or with all fixes.
    Fixes(Vec<String>),
}

impl Named {
    /// What `text` names. Paths become absolute.
    pub fn parse(text: &str) -> Result<Self, Unusable> {
        match text.strip_suffix(CUDNN) {
            Some("") => Ok(Self { origin: Origin::parse(CANDLE)?, cudnn: true }),
            Some(origin) => Ok(Self { origin: Origin::parse(origin)?, cudnn: true }),
            None => Ok(Self { origin: Origin::parse(text)?, cudnn: false }),
        }
    }

    /// The text that names it, from any folder.
    pub fn text(&self) -> String {
        self.origin.text() + if self.cudnn { CUDNN } else { "" }
    }

    /// A line about the candle that is built.
    pub fn described(&self) -> String {
        self.origin.described() + if self.cudnn { " with cuDNN" } else { "" }
    }

    /// A name for folders.
    pub fn folder(&self) -> String {
        self.origin.folder() + if self.cudnn { "-cudnn" } else { "" }
    }
}

impl Origin {
    fn parse(text: &str) -> Result<Self, Unusable> {
        if let Some(names) = fixes(text) {
            return Ok(Self::Fixes(names));
        }
        let path = Path::new(text);
        let absolute = || std::path::absolute(path).map_err(|error| Unusable(format!("{text}: {error}")));
        if is_patch(path) && path.is_file() || !patches(path).is_empty() {
            return Ok(Self::Patches(absolute()?));
        }
        if path.is_dir() {
            if CRATES.iter().any(|name| path.join(name).join("Cargo.toml").is_file()) {
                return Ok(Self::Tree(absolute()?));
            }
            return Err(Unusable(format!(
                "{text} contains neither a crate of candle, such as {text}/candle-core, nor a patch; name a checkout \
                 of candle's repository"
            )));
        }
        Version::parse(text).map(Self::Release).map_err(|_| {
            Unusable(format!(
                "`{text}` is neither a release of candle, such as 0.11.0, nor a checkout, nor a folder of patches, nor \
                 `fixes`"
            ))
        })
    }

    fn text(&self) -> String {
        match self {
            Self::Release(version) => version.to_string(),
            Self::Tree(path) | Self::Patches(path) => path.display().to_string(),
            Self::Fixes(names) if names.is_empty() => FIXES.to_string(),
            Self::Fixes(names) => format!("{FIXES}:{}", names.join(",")),
        }
    }

    fn described(&self) -> String {
        match self {
            Self::Fixes(names) if names.len() > 3 => format!("candle and {} fixes", names.len()),
            _ => format!("candle {}", from_here(&self.text())),
        }
    }

    /// The release, or the last part of the path and a digest of all of it. All fixes have one folder: from one to the next, Cargo then
    /// builds only what differs.
    fn folder(&self) -> String {
        match self {
            Self::Release(version) => version.to_string(),
            Self::Fixes(_) => FIXES.to_string(),
            Self::Tree(path) | Self::Patches(path) => {
                let last = path.file_name().unwrap_or_default().to_string_lossy();
                let plain: String = last.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
                let digest = super::digest([path.as_os_str().as_encoded_bytes()]);
                format!("{plain}-{}", &digest[..7])
            }
        }
    }
}

/// The patches that `path` is or has, by name.
pub fn patches(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.to_path_buf()];
    }
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| is_patch(path)).collect();
    found.sort();
    found
}

fn is_patch(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "patch" || extension == "diff")
}
