//! The option `--store`, and the findings that people name on the command line.

use std::path::{Path, PathBuf};

use super::{UsageError, text};
use crate::console::Shell;
use crate::store::{DEFAULT, Finding, Store, id};

/// The variable that names the store.
pub const VARIABLE: &str = "SNUFFER_FINDINGS";

/// The folder, in a store, of findings of edited kernels.
const EDITED_KERNELS: &str = "edited-kernels";

/// The store of a command.
#[derive(Debug, Clone, clap::Args)]
pub struct StoreArg {
    /// Folder of findings and campaign records. By default `findings`.
    #[arg(long, global = true, env = VARIABLE, help_heading = "Store", display_order = 1000)]
    store: Option<PathBuf>,
}

impl StoreArg {
    /// The path of the store.
    pub fn path(&self) -> &Path {
        self.store.as_deref().unwrap_or(Path::new(DEFAULT))
    }

    /// The store, which is made if it is missing.
    pub fn open(&self) -> Result<Store, UsageError> {
        Store::open(self.path()).map_err(|problem| UsageError(format!("{problem:#}; name another store with --store")))
    }

    /// The store, which must exist.
    pub fn existing(&self) -> Result<Store, UsageError> {
        existing(self.path())
    }

    /// The store of findings of edited kernels, a folder of this one or this itself: they are none of a release of candle.
    pub fn of_edited_kernels(&self) -> Self {
        self.within(EDITED_KERNELS)
    }

    /// The store in `folder` of this one, or this if it is that.
    pub fn within(&self, folder: &str) -> Self {
        let path = self.path();
        Self { store: Some(if path.ends_with(folder) { path.to_path_buf() } else { path.join(folder) }) }
    }

    /// Commands for this store.
    pub fn shell(&self) -> Shell {
        let usual = std::env::var_os(VARIABLE).map_or_else(|| PathBuf::from(DEFAULT), PathBuf::from);
        Shell::new(Some(self.path()).filter(|path| *path != usual))
    }

    /// The finding that `typed` stands for, and its name: that in a file or in standard input, or else one of the store.
    pub fn finding(&self, typed: &str) -> anyhow::Result<(String, Finding)> {
        if is_file(Path::new(typed)) {
            return in_file(Path::new(typed));
        }
        let (store, shown) = (self.existing()?, self.path().display());
        let problem = match &store.matching(typed)?[..] {
            [name] => match store.get(name)? {
                Some(finding) => return Ok((name.clone(), finding)),
                None => format!("the finding `{name}` is gone"),
            },
            [] => format!("no finding `{typed}` in {shown}; `snuffer findings list` lists them"),
            [one, another, rest @ ..] => {
                let more = if rest.is_empty() { String::new() } else { format!(", or {} more", rest.len()) };
                let (ones, others) = (id(one), id(another));
                format!(
                    "`{typed}` may be {ones}, `{one}`, or {others}, `{another}`{more} in {shown}; type an id, or more of the name"
                )
            }
        };
        Err(UsageError(problem).into())
    }
}

/// True if the typed name of a finding is a file, a folder or standard input.
pub fn is_file(typed: &Path) -> bool {
    typed.as_os_str() == "-" || typed.exists()
}

/// The finding in the file at `path`, or in a finding's folder, and the name that a store gives it.
fn in_file(path: &Path) -> anyhow::Result<(String, Finding)> {
    let inside = path.join("finding.toml");
    let path = if inside.is_file() { &inside } else { path };
    let text = text(path)?;
    let problem = |why: String| UsageError(format!("{} is not a finding: {why}", path.display()));
    let finding: Finding = toml::from_str(&text).map_err(|error| problem(error.message().replace('\n', ", ")))?;
    finding.check().map_err(problem)?;
    Ok((finding.signature.slug(), finding))
}

/// Refuses a finding of edited kernels or of another candle, for commands that tell candle's maintainers of one.
pub fn check_release(finding: &Finding) -> Result<(), UsageError> {
    let problem = match (&finding.origin.kernels, &finding.origin.candle) {
        (Some(edited), _) => format!("the edited {edited}; no release of candle shows it"),
        (_, Some(candle)) => format!("{candle}; reports are only for candle {}", crate::CANDLE),
        (None, None) => return Ok(()),
    };
    Err(UsageError(format!("{} is a finding of {problem}", finding.signature)))
}

/// The store at `root`, which must exist.
pub fn existing(root: &Path) -> Result<Store, UsageError> {
    Store::existing(root).map_err(|missing| UsageError(missing.to_string()))
}
