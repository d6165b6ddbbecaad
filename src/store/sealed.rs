//! Files of a store whose first line is a checksum, so that a damaged file is never taken for a whole one.

use std::hash::Hasher;
use std::path::Path;

use anyhow::{Context, bail};
use serde::de::DeserializeOwned;
use siphasher::sip::SipHasher13;

use super::files::{read_text, write_atomically};

/// How the first line begins. For TOML it is a comment.
const MARK: &str = "# checksum ";

/// Writes `text` behind its checksum.
pub fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    write_atomically(path, format!("{MARK}{}\n{text}", checksum(path, text)).as_bytes())
}

/// The text behind a checksum, which must be right; `advice` says what to do if not. Files of older builds have no checksum.
pub fn read(path: &Path, advice: &str) -> anyhow::Result<String> {
    let text = read_text(path).with_context(|| format!("cannot read {}", path.display()))?;
    let damaged = |why: &str| format!("{} is damaged; {advice}: {why}", path.display());
    match text.strip_prefix(MARK).and_then(|rest| rest.split_once('\n')) {
        Some((sum, content)) if sum == checksum(path, content) => Ok(content.to_string()),
        Some(_) => bail!(damaged("its checksum does not match its name and content")),
        None if text.is_empty() || text.starts_with('#') => bail!(damaged("it has no content")),
        None => Ok(text),
    }
}

/// What the TOML file at `path` holds.
pub fn parse<T: DeserializeOwned>(path: &Path, advice: &str) -> anyhow::Result<T> {
    toml::from_str(&read(path, advice)?).map_err(|error| {
        let why = error.message().replace('\n', ", ");
        anyhow::anyhow!("{} is damaged; {advice}: {why}", path.display())
    })
}

/// The checksum of a file's name and text: one file in place of another is damage, too.
fn checksum(path: &Path, text: &str) -> String {
    // A hash that does not change with the release of Rust.
    let mut hasher = SipHasher13::new();
    hasher.write(path.file_name().unwrap_or_default().as_encoded_bytes());
    hasher.write_u8(0);
    hasher.write(text.as_bytes());
    format!("{:016x}", hasher.finish())
}
