//! What Cargo says of a build in another workspace, and the profile that such a workspace has. Suite and set-up build such
//! workspaces, so both compile this file.

use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::Value;

/// An error of the compiler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompileError {
    /// What it says, in a line.
    pub message: String,
    /// All that it prints.
    pub rendered: String,
    /// The files of the workspace and bytes that it is about, the most important first.
    pub places: Vec<(PathBuf, Range<usize>)>,
}

/// The errors in what `cargo build --message-format=json` prints in `workspace`.
pub fn errors(printed: &[u8], workspace: &Path) -> anyhow::Result<Vec<CompileError>> {
    let mut errors = Vec::new();
    for line in std::str::from_utf8(printed)?.lines() {
        let message: Value = serde_json::from_str(line)?;
        if message["reason"] == "compiler-message" && message["message"]["level"] == "error" {
            errors.extend(error(workspace, &message));
        }
    }
    Ok(errors)
}

/// An error in a message of Cargo, if it is about a place.
fn error(workspace: &Path, message: &Value) -> Option<CompileError> {
    let package = Path::new(message["manifest_path"].as_str()?).parent()?;
    let mut places = Vec::new();
    let spans = message["message"]["spans"].as_array()?;
    let (primary, other): (Vec<&Value>, Vec<&Value>) = spans.iter().partition(|span| span["is_primary"] == true);
    for span in primary.into_iter().chain(other) {
        // Where a macro was used, rather than in the macro.
        let mut span = span;
        loop {
            // Relative to the workspace or to the package, whichever the compiler was started in.
            let name = span["file_name"].as_str()?;
            let file = [package, workspace].map(|folder| folder.join(name)).into_iter().find(|file| file.is_file())?;
            let bytes = |name: &str| span[name].as_u64().map(|place| place as usize);
            if file.starts_with(workspace) {
                places.push((file, bytes("byte_start")?..bytes("byte_end")?));
            }
            if span["expansion"].is_null() {
                break;
            }
            span = &span["expansion"]["span"];
        }
    }
    let text = |name: &str| Some(message["message"][name].as_str()?.to_string());
    let (message, rendered) = (text("message")?, text("rendered").unwrap_or_default());
    (!places.is_empty()).then_some(CompileError { message, rendered, places })
}

/// The profiles of a workspace that has ours, so that Cargo does not build dependencies again. `levels` are optimization levels of
/// packages that differ.
pub fn profile(ours: &toml::Table, levels: &[(&str, i64)]) -> anyhow::Result<toml::Table> {
    let mut dev = ours["profile"]["dev"].clone();
    let packages = dev["package"].as_table_mut().context("the profile has settings for packages")?;
    packages.retain(|name, _| name != "snuffer-simulator");
    for (name, level) in levels {
        packages.insert((*name).into(), toml::Table::from_iter([("opt-level".to_string(), (*level).into())]).into());
    }
    Ok(toml::Table::from_iter([("dev".to_string(), dev)]))
}
