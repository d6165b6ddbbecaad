//! A folder of regressions: each is `OP/WORDS/case.toml` below it, or `NAME.toml` in it.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use super::Regression;

/// The file of a regression that has a folder of its own, beside its snapshots.
const FILE: &str = "case.toml";

/// How many folders above [`FILE`] are searched: one more than is right, to report a file that is too deep.
const DEPTH: usize = 3;

/// How long the words of a name may be that a title makes.
const WORDS: usize = 50;

/// How long all of such a name may be.
const NAME: usize = 80;

/// Every regression in `folder`, by name: `OP/WORDS` or `NAME`.
pub fn read(folder: &Path) -> anyhow::Result<Vec<(String, Regression)>> {
    let mut all = Vec::new();
    for path in files(folder, DEPTH)? {
        let inside = path.strip_prefix(folder).unwrap_or(&path).with_extension("");
        let parts: Vec<_> = inside.iter().map(|part| part.to_string_lossy()).collect();
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let parsed = Regression::parse(&text).and_then(|regression| match &parts[..] {
            [op, words, _] if *op == regression.case.op => Ok((format!("{op}/{words}"), regression)),
            [op, ..] if parts.len() == 3 => {
                Err(format!("the folder is `{op}`, but the op of the case is `{}`", regression.case.op))
            }
            [name] if *name != "case" => Ok((name.to_string(), regression)),
            _ => Err(format!("{FILE} belongs into OP/WORDS below {}", folder.display())),
        });
        match parsed {
            Ok(named) => all.push(named),
            Err(problem) => bail!("{}: {problem}", path.display()),
        }
    }
    all.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(all)
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

/// The name that a title makes: the op, and as many words of the title as fit; none for a title without words.
pub fn name(op: &str, title: &str) -> Option<String> {
    let room = WORDS.min(NAME.saturating_sub(op.len() + 1));
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
    (!words.is_empty()).then(|| format!("{op}/{words}"))
}
