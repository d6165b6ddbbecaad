//! The folder of causes: `NAME/cause.toml`, and beside it the fix, if there is one, its proof, and since which release the cause is there.

use std::path::{Path, PathBuf};

use include_dir::{Dir, include_dir};

/// The folder of causes in a checkout, from its root.
pub const FOLDER: &str = "corpora/causes";

/// The causes that this build was made with.
static OWN: Dir = include_dir!("$CARGO_MANIFEST_DIR/corpora/causes");

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
    /// `since.toml`.
    pub since: Option<String>,
}

/// The folder [`FOLDER`] in the current folder, or in the nearest above that has one.
pub fn folder() -> Option<PathBuf> {
    if Path::new(FOLDER).is_dir() {
        return Some(PathBuf::from(FOLDER));
    }
    std::env::current_dir().ok()?.ancestors().map(|root| root.join(FOLDER)).find(|folder| folder.is_dir())
}

/// The file `what` (`cause`, `fix`, `proof` or `since`) of the cause `name` in `folder`.
pub fn file(folder: &Path, name: &str, what: &str) -> PathBuf {
    folder.join(name).join(format!("{what}.toml"))
}

/// The files of each cause in `folder`, by name.
pub fn read(folder: &Path) -> std::io::Result<Vec<Files>> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let text = |what: &str| std::fs::read_to_string(file(folder, &name, what)).ok();
        let cause = text("cause");
        let [fix, proof, since] = ["fix", "proof", "since"].map(text);
        all.extend(cause.map(|cause| Files { name, cause, fix, proof, since }));
    }
    Ok(all)
}

/// The files of each cause that this build was made with.
pub fn own() -> Vec<Files> {
    let of = |folder: &Dir| {
        let text = |what: &str| {
            Some(folder.get_file(folder.path().join(format!("{what}.toml")))?.contents_utf8()?.to_string())
        };
        let name = folder.path().to_string_lossy().into_owned();
        let [fix, proof, since] = ["fix", "proof", "since"].map(text);
        Some(Files { name, cause: text("cause")?, fix, proof, since })
    };
    OWN.dirs().filter_map(of).collect()
}
