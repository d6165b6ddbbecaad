//! The ops that are left out of a worker, because its candle lacks what they call.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::compiler::CompileError;

/// The files of ops, and of what they share, that are not compiled, by their folder in that of all families.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct LeftOut {
    files: BTreeMap<String, BTreeSet<String>>,
}

impl LeftOut {
    /// Leaves out the files of ops to which `errors` belong; `ops` is the folder of all families. Returns those files, each with its
    /// first error, or else the first error that belongs to none.
    pub fn blame<'a>(
        &mut self,
        errors: &'a [CompileError],
        ops: &Path,
    ) -> Result<Vec<(String, &'a str)>, &'a CompileError> {
        let mut new = Vec::new();
        for error in errors {
            let files = error.places.iter().filter_map(|(file, _)| file_of_op(file, ops));
            // What families share is to blame only if nothing else is.
            let (shared, own): (Vec<_>, Vec<_>) =
                files.partition(|(folder, _)| Path::new(folder).starts_with("support"));
            let (folder, file) = own.into_iter().chain(shared).next().ok_or(error)?;
            let shown = format!("{folder}/{file}");
            if self.files.entry(folder).or_default().insert(file) {
                new.push((shown, error.message.as_str()));
            }
        }
        Ok(new)
    }

    /// The source of the module of a folder without what is left out of it. Others stay as they are.
    pub fn apply(&self, path: &Path, text: String) -> String {
        let folder = path.strip_prefix("src/ops").ok().map(|path| path.with_extension(""));
        match folder.and_then(|folder| self.files.get(folder.to_str()?)) {
            Some(files) => without(&text, files),
            None => text,
        }
    }
}

/// The folder and name of the file of an op, or of what ops share.
fn file_of_op(file: &Path, ops: &Path) -> Option<(String, String)> {
    let inside = file.strip_prefix(ops).ok()?;
    let folder = inside.parent()?.to_str().filter(|folder| !folder.is_empty())?;
    Some((folder.to_string(), inside.file_stem()?.to_str()?.to_string()))
}

/// The module of a folder without these files: neither declared nor in the list of ops.
fn without(text: &str, files: &BTreeSet<String>) -> String {
    let kept = |line: &str| {
        let declared = line.trim().strip_suffix(';').and_then(|line| line.rsplit(' ').next());
        if declared.is_some_and(|name| files.contains(name)) {
            return String::new();
        }
        let kept = files.iter().fold(line.to_string(), |line, file| unlisted(line, file));
        if kept.trim().is_empty() && !line.trim().is_empty() { String::new() } else { kept }
    };
    text.split_inclusive('\n').map(kept).collect()
}

/// A line of the list of ops without those of a file.
fn unlisted(mut line: String, file: &str) -> String {
    let prefix = format!("&{file}::");
    while let Some(start) = line.find(&prefix) {
        let name = start + prefix.len();
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let end = line[name..].find(|c| !is_part(c)).map_or(line.len(), |length| name + length);
        let rest = line[end..].trim_start_matches([',', ' ']).to_string();
        line.replace_range(start.., &rest);
    }
    line
}
