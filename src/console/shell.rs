//! Commands of `snuffer` as a person can paste them here.

use std::env;
use std::path::{Path, PathBuf};

use crate::exec::{CandleUnderTest, EditedKernels, from_here, is_watched};

/// How to call this program on a store.
#[derive(Debug, Clone)]
pub struct Shell {
    program: String,
    /// The option that names the store, with the space before it; empty for the store that is used anyway.
    option: String,
    /// The option that names another candle or edited kernels, with the space before it; empty for the release under test.
    candle: String,
}

impl Shell {
    /// Commands for the store at `store`, or for the one that is used anyway.
    pub fn new(store: Option<&Path>) -> Self {
        let option = store.map_or_else(String::new, |store| format!(" --store {}", quoted(store)));
        let program = program().map_or_else(|| "snuffer".to_string(), |program| quoted(&program));
        // Without the session a program does not find the simulated device.
        let program = if is_watched() { format!("cargo snuffer exec -- {program}") } else { program };
        Self { program, option, candle: String::new() }
    }

    /// The same for cases and findings of another candle or of edited kernels, if there are any.
    #[must_use]
    pub fn on(self, candle: Option<&CandleUnderTest>, kernels: Option<&EditedKernels>) -> Self {
        let other = candle.map(|candle| format!(" --candle {}", quoted(Path::new(&from_here(&candle.named)))));
        let edited = kernels.map(|edited| format!(" --kernels {}", quoted(&edited.sources)));
        Self { candle: other.or(edited).unwrap_or_default(), ..self }
    }

    /// Whether findings are of another candle or of edited kernels, and no report is to be made of them.
    pub fn is_on_another(&self) -> bool {
        !self.candle.is_empty()
    }

    /// A command of this program that runs cases, such as `replay ID`, with the same candle and kernels.
    pub fn on_the_same(&self, command: &str) -> String {
        self.snuffer(&format!("{command}{}", self.candle))
    }

    /// A command of this program, such as `triage`.
    pub fn snuffer(&self, command: &str) -> String {
        format!("{} {command}{}", self.program, self.option)
    }

    /// The command that runs the case in a file again.
    pub fn replay(&self, file: &Path) -> String {
        format!("{} replay {}{}", self.program, quoted(file), self.candle)
    }

    /// The command that writes the issue of a finding. In a checkout, `cargo xtask` also sets up what its program needs.
    pub fn report(&self, id: &str) -> String {
        if Path::new("xtask/Cargo.toml").is_file() {
            format!("cargo xtask report -- {id}{}", self.option)
        } else {
            self.snuffer(&format!("report {id}"))
        }
    }
}

/// This executable: its name if the shell finds it by that, or else its path, from the current folder if it is below.
fn program() -> Option<PathBuf> {
    let own = env::current_exe().ok()?;
    let name = Path::new(own.file_name()?);
    let found = env::split_paths(&env::var_os("PATH")?).map(|folder| folder.join(name)).find(|path| path.is_file());
    if found.and_then(|found| found.canonicalize().ok()) == own.canonicalize().ok() {
        return Some(name.to_path_buf());
    }
    let below = env::current_dir().ok().and_then(|folder| own.strip_prefix(folder).ok().map(Path::to_path_buf));
    Some(below.unwrap_or(own))
}

/// A path as a word of a shell, which no program takes for an option.
pub fn quoted(path: &Path) -> String {
    let path = path.display().to_string();
    let path = if path.len() > 1 && path.starts_with('-') { format!("./{path}") } else { path };
    shlex::try_quote(&path).map_or_else(|_| path.clone(), std::borrow::Cow::into_owned)
}
