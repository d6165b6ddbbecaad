//! The folder of causes: `NAME/cause.toml`, and beside it the fix, if there is one, and its proof; other files are about all causes.

use std::path::{Path, PathBuf};

use include_dir::{Dir, include_dir};

/// The folder of causes in a checkout, from its root.
pub const FOLDER: &str = "corpora/causes";

/// The causes that this build was made with.
static OWN: Dir = include_dir!("$CARGO_MANIFEST_DIR/corpora/causes");

/// All files of a folder.
#[derive(Debug, Clone, Default)]
pub struct Folder {
    /// The files of each cause.
    pub causes: Vec<Files>,
    /// [`SINCE`]: since which release each cause is there.
    pub since: String,
    /// [`THEMES`]: the themes to which causes belong.
    pub themes: String,
    /// [`MODELS`]: what of candle each model of candle-transformers uses.
    pub models: String,
}

/// The files of a cause.
#[derive(Debug, Clone)]
pub struct Files {
    /// The folder's name.
    pub name: String,
    /// `cause.toml`.
    pub cause: String,
    /// `fix.toml`.
    pub fix: Option<String>,
    /// `proof.toml`.
    pub proof: Option<String>,
}

/// The folder [`FOLDER`] in the current folder, or in the nearest above that has one.
pub fn folder() -> Option<PathBuf> {
    if Path::new(FOLDER).is_dir() {
        return Some(PathBuf::from(FOLDER));
    }
    std::env::current_dir().ok()?.ancestors().map(|root| root.join(FOLDER)).find(|folder| folder.is_dir())
}

/// The file `what` (`cause`, `fix` or `proof`) of the cause `name` in `folder`.
pub fn file(folder: &Path, name: &str, what: &str) -> PathBuf {
    folder.join(name).join(format!("{what}.toml"))
}

/// The file that says since which release each cause is there.
pub const SINCE: &str = "since.toml";

/// The file of themes.
pub const THEMES: &str = "themes.toml";

/// The file of models.
pub const MODELS: &str = "models.toml";

/// The files in `folder`.
pub fn read(folder: &Path) -> std::io::Result<Folder> {
    let [since, themes, models] =
        [SINCE, THEMES, MODELS].map(|name| std::fs::read_to_string(folder.join(name)).unwrap_or_default());
    let mut causes = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let text = |what: &str| std::fs::read_to_string(file(folder, &name, what)).ok();
        let cause = text("cause");
        let [fix, proof] = ["fix", "proof"].map(text);
        causes.extend(cause.map(|cause| Files { name, cause, fix, proof }));
    }
    Ok(Folder { causes, since, themes, models })
}

/// The files that this build was made with.
pub fn own() -> Folder {
    let of = |folder: &Dir| {
        let text = |what: &str| {
            Some(folder.get_file(folder.path().join(format!("{what}.toml")))?.contents_utf8()?.to_string())
        };
        let name = folder.path().to_string_lossy().into_owned();
        let [fix, proof] = ["fix", "proof"].map(text);
        Some(Files { name, cause: text("cause")?, fix, proof })
    };
    let text = |name| OWN.get_file(name).and_then(include_dir::File::contents_utf8).unwrap_or_default().to_string();
    let [since, themes, models] = [SINCE, THEMES, MODELS].map(text);
    Folder { causes: OWN.dirs().filter_map(of).collect(), since, themes, models }
}
