//! `cargo xtask picture`: pictures of a terminal for the documentation, each of a real run.

use std::fs;
use std::path::Path;
use std::process::Command;

use anstyle_svg::{Term, VGA};
use anyhow::{Context, ensure};

use crate::set_up;
use crate::shell::{say, target};

/// How many columns the terminal has.
const COLUMNS: &str = "90";

/// A picture of commands and what the last one prints.
struct Picture {
    file: &'static str,
    commands: &'static [&'static str],
    /// The part of the output that is shown.
    part: fn(&str) -> String,
}

const PICTURES: [Picture; 2] = [
    Picture {
        file: "replay.svg",
        commands: &[
            "snuffer new loss.cross_entropy --inp 4x10 --target 0,3,10,1 > case.toml",
            "snuffer replay case.toml --device cpu",
        ],
        part: first_and_last_paragraph,
    },
    Picture {
        file: "hunt.svg",
        commands: &["snuffer hunt --device cpu --seed 1 --cases 45"],
        part: after_the_first_paragraph,
    },
];

/// Builds `snuffer`, runs the commands and writes the pictures to `docs/images`. Returns 0.
pub fn run(root: &Path) -> anyhow::Result<u8> {
    set_up::snuffer()?;
    let folder = root.join("docs/images");
    fs::create_dir_all(&folder)?;
    // The bright colours in place of the others, which are hard to read on black.
    let mut palette = VGA;
    palette.0.copy_within(9.., 1);
    let terminal = Term::new().palette(palette);
    for picture in &PICTURES {
        let path = folder.join(picture.file);
        fs::write(&path, terminal.render_svg(&picture.text()?))
            .with_context(|| format!("cannot write {}", path.display()))?;
        say(&path.display().to_string());
    }
    Ok(0)
}

impl Picture {
    /// What stands on the terminal after the commands, which run in an empty folder.
    fn text(&self) -> anyhow::Result<String> {
        let folder = target()?.join("picture").join(self.file);
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(&folder)?;
        let (mut text, mut printed) = (String::new(), String::new());
        for command in self.commands {
            text += &format!("$ {command}\n");
            printed = output(command, &folder)?;
        }
        Ok(text + (self.part)(&printed).trim_end())
    }
}

/// What `command` prints on a terminal with colours.
fn output(command: &str, folder: &Path) -> anyhow::Result<String> {
    let own = target()?.join("debug");
    let path = std::env::join_paths(
        std::iter::once(own).chain(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())),
    )?;
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).current_dir(folder);
    shell
        .env("PATH", path)
        .env("COLUMNS", COLUMNS)
        .env("CLICOLOR_FORCE", "1")
        .env_remove("NO_COLOR")
        .env_remove("SNUFFER_FINDINGS");
    let output = shell.output().context("cannot run sh")?;
    let text = String::from_utf8(output.stdout)?;
    // Findings and invalid calls have exit codes of their own.
    ensure!(
        !text.is_empty() || output.status.success(),
        "`{command}` failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(text)
}

/// The answer and the verdict of a replay, without the case between them.
fn first_and_last_paragraph(text: &str) -> String {
    let first = text.split_once("\n\n").map_or(text, |(first, _)| first);
    let last = text.rsplit_once("\n\n").map_or("", |(_, last)| last);
    format!("{first}\n…\n{last}")
}

/// The summary of a hunt, without what it printed before.
fn after_the_first_paragraph(text: &str) -> String {
    text.split_once("\n\n").map_or_else(|| text.to_string(), |(_, summary)| format!("…\n\n{summary}"))
}
