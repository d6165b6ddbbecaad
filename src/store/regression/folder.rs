//! A folder of regressions: each is `OP/WORDS/case.toml` below it, or `NAME.toml` in it.

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use include_dir::{Dir, include_dir};

use super::Regression;
use crate::store::files::read_text;

/// The file of a regression that has a folder of its own, beside its snapshots.
const FILE: &str = "case.toml";

/// How many folders above [`FILE`] are searched: one more than is right, to report a file that is too deep.
const DEPTH: usize = 3;

/// How long the words of a name may be that a title makes.
const WORDS: usize = 50;

/// How long all of such a name may be.
const NAME: usize = 80;

/// The folder of regressions in a checkout, from its root.
pub const FOLDER: &str = "corpora/regressions";

/// The regressions that this build was made with.
static OWN: Dir = include_dir!("$CARGO_MANIFEST_DIR/corpora/regressions");

/// The folder [`FOLDER`] in the current folder, or in the nearest above that has one.
pub fn nearby() -> Option<PathBuf> {
    let is_there = |root: &&Path| root.join(FOLDER).is_dir();
    // Paths of the current folder are shown without the way to it.
    if is_there(&Path::new("")) {
        return Some(PathBuf::from(FOLDER));
    }
    std::env::current_dir().ok()?.ancestors().find(is_there).map(|root| root.join(FOLDER))
}

/// The regressions in the folder `nearby` and those that this build was made with. Of two that have a name or a signature in
/// common, the one in the folder counts. The folder that the build was made from counts alone: it may have been edited since.
pub fn known(nearby: Option<&Path>) -> anyhow::Result<Vec<(String, Regression)>> {
    let mut all = nearby.map(read).transpose()?.unwrap_or_default();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(FOLDER).canonicalize().ok();
    if source.is_some() && source == nearby.and_then(|folder| folder.canonicalize().ok()) {
        return Ok(all);
    }
    let is_other = |(name, kept): &(String, Regression), (other, its): &(String, Regression)| {
        name != other && (kept.signature.is_none() || kept.signature != its.signature)
    };
    let more: Vec<_> = own()?.into_iter().filter(|own| all.iter().all(|one| is_other(own, one))).collect();
    all.extend(more);
    all.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(all)
}

/// The regressions that this build was made with.
fn own() -> anyhow::Result<Vec<(String, Regression)>> {
    let folders = OWN.dirs().flat_map(Dir::dirs);
    let files = folders.flat_map(Dir::files).filter(|file| file.path().ends_with(FILE));
    files.map(|file| named(Path::new(""), file.path(), file.contents_utf8().unwrap_or_default())).collect()
}

/// Every regression in `folder`, by name: `OP/WORDS` or `NAME`.
pub fn read(folder: &Path) -> anyhow::Result<Vec<(String, Regression)>> {
    let mut all = Vec::new();
    for path in files(folder, DEPTH)? {
        let text = read_text(&path).with_context(|| format!("cannot read {}", path.display()))?;
        all.push(named(folder, path.strip_prefix(folder).unwrap_or(&path), &text)?);
    }
    all.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(all)
}

/// The regression with this text in the file `inside` of `folder`, and its name.
fn named(folder: &Path, inside: &Path, text: &str) -> anyhow::Result<(String, Regression)> {
    let without_extension = inside.with_extension("");
    let parts: Vec<_> = without_extension.iter().map(|part| part.to_string_lossy()).collect();
    let parsed = Regression::parse(text).and_then(|regression| match &parts[..] {
        [op, words, _] if *op == regression.case.op => Ok((format!("{op}/{words}"), regression)),
        [op, ..] if parts.len() == 3 => {
            Err(format!("the folder is `{op}`, but the op of the case is `{}`", regression.case.op))
        }
        [name] if *name != "case" => Ok((name.to_string(), regression)),
        _ => Err(format!("{FILE} belongs into OP/WORDS below {}", folder.display())),
    });
    parsed.map_err(|problem| anyhow!("{}: {problem}", folder.join(inside).display()))
}

/// The TOML files in `folder`, and each [`FILE`] up to `depth` folders below: other folders may hold other files.
fn files(folder: &Path, depth: usize) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            let below = if depth == 0 { Vec::new() } else { files(&path, depth - 1)? };
            found.extend(below.into_iter().filter(|path| path.ends_with(FILE)));
        } else if path.extension().is_some_and(|extension| extension == "toml") {
            found.push(path);
        }
    }
    Ok(found)
}

/// The file of the regression `name` in `folder`.
pub fn path(folder: &Path, name: &str) -> PathBuf {
    if name.contains('/') { folder.join(name).join(FILE) } else { folder.join(format!("{name}.toml")) }
}

/// Takes back the regression in the file at `path`, with the folders that are empty without it.
pub fn forget(path: &Path) -> anyhow::Result<()> {
    std::fs::remove_file(path).with_context(|| format!("cannot remove {}", path.display()))?;
    // WORDS, and OP; a folder that has other files stays.
    let _ = path.ancestors().skip(1).take(2).try_for_each(std::fs::remove_dir);
    Ok(())
}

/// The name that a title makes: the op, and as many words of the title as fit; none for a title without words.
pub fn name(op: &str, title: &str) -> Option<String> {
    let words = slug(title, WORDS.min(NAME.saturating_sub(op.len() + 1)));
    (!words.is_empty()).then(|| format!("{op}/{words}"))
}

/// As many words of `title` as fit into `room` letters, for a folder's name.
pub fn slug(title: &str, room: usize) -> String {
    let title = title.replace(['\'', '’'], "").to_ascii_lowercase();
    let mut words = String::new();
    for word in title.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()) {
        if words.is_empty() {
            words = word.chars().take(room).collect();
        } else if words.len() + 1 + word.len() <= room {
            words = format!("{words}-{word}");
        } else {
            break;
        }
    }
    words
}
