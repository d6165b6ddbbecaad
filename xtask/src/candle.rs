//! `cargo xtask candle`: moves the suite to another release of candle, and says what is to be read again.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};

use crate::functions;
use crate::set_up::{self, Devices};
use crate::shell::{cargo, say, status, target};

/// The manifest that pins candle's release.
const MANIFEST: &str = "Cargo.toml";

/// The file with the releases that bisection tries.
const RELEASES: &str = "src/investigate/bisect.rs";

/// Arguments of `cargo xtask candle`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The release to move to, such as `0.11.1`.
    version: String,
    #[command(flatten)]
    devices: Devices,
    /// Only report what the move means; change no files.
    #[arg(long)]
    dry_run: bool,
}

/// Says what the release means for contracts, ops, dtypes and regressions, then pins it.
pub fn run(root: &Path, args: &Args) -> anyhow::Result<u8> {
    let version = args.version.as_str();
    let manifest = fs::read_to_string(MANIFEST)?;
    let moved = pinned(&manifest, version)?;
    ensure!(moved != manifest, "the suite is already at candle {version}");
    if args.devices.can_have_cuda() {
        set_up::everything(args.devices)?;
    } else {
        set_up::snuffer()?;
    }
    let snuffer = || Command::new(target().unwrap_or_default().join("debug/snuffer"));
    let code = status(args.devices.limit(snuffer().args(["lab", "moved", version])))?;
    ensure!(code == 0, "candle {version} was not compared with the present release");
    say("regressions that behave differently with it:");
    let code = status(args.devices.limit(snuffer().args(["regressions", "--candle", version])))?;
    ensure!([0, 2].contains(&code), "no regression ran with candle {version}");
    if args.dry_run {
        return Ok(0);
    }
    fs::write(MANIFEST, moved)?;
    fs::write(RELEASES, listed(&fs::read_to_string(RELEASES)?, version)?)?;
    for folder in [".", "fuzz"] {
        let update = ["update", "--workspace", "--quiet"];
        ensure!(status(cargo().args(update).current_dir(folder))? == 0, "cargo cannot resolve candle {version}");
    }
    functions::run(root, false)?;
    say(&format!("moved to candle {version}: Cargo.toml, the lock files, {RELEASES}, src/oracle/functions.tsv"));
    say("next: reread the places above, then run `cargo xtask test`, which names every list and snapshot that differs");
    Ok(0)
}

/// The manifest with candle's exact versions replaced.
fn pinned(manifest: &str, version: &str) -> anyhow::Result<String> {
    let lines = manifest.split_inclusive('\n').map(|line| match line.split_once(" = \"=") {
        Some((name, _)) if name.starts_with("candle-") => format!("{name} = \"={version}\"\n"),
        _ => line.to_string(),
    });
    let pinned: String = lines.collect();
    ensure!(pinned.contains(&format!("candle-core = \"={version}\"")), "{MANIFEST} does not pin candle-core");
    Ok(pinned)
}

/// The file with the list of releases, which has `version` as its last one if it had none such.
fn listed(file: &str, version: &str) -> anyhow::Result<String> {
    let quoted = format!("\"{version}\"");
    if file.contains(&quoted) {
        return Ok(file.to_string());
    }
    let (before, rest) = file.split_once("pub const RELEASES: [&str; ").context("there is a list of releases")?;
    let (count, rest) = rest.split_once(']').context("the list has a length")?;
    let (list, after) = rest.split_once("];").context("the list ends")?;
    let count = count.parse::<usize>()? + 1;
    Ok(format!("{before}pub const RELEASES: [&str; {count}]{}\n    {quoted},\n];{after}", list.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_versions_of_candle_are_pinned_anew() {
        let manifest = "[dependencies]\ncandle-core = \"=0.11.1\"\ncandle-nn = \"=0.11.1\"\nserde = \"1\"\n";
        let moved = pinned(manifest, "0.12.0").expect("candle is pinned");
        assert_eq!(moved, "[dependencies]\ncandle-core = \"=0.12.0\"\ncandle-nn = \"=0.12.0\"\nserde = \"1\"\n");
        assert!(pinned("[dependencies]\n", "0.12.0").is_err());
    }

    #[test]
    fn a_new_release_is_listed_last_and_a_known_one_stays_where_it_is() {
        let file = "//! x\npub const RELEASES: [&str; 2] = [\n    \"0.11.0\",\n    \"0.11.1\",\n];\nrest\n";
        let listed = |version| listed(file, version).expect("a list");
        assert_eq!(listed("0.11.0"), file);
        let new =
            "//! x\npub const RELEASES: [&str; 3] = [\n    \"0.11.0\",\n    \"0.11.1\",\n    \"0.12.0\",\n];\nrest\n";
        assert_eq!(listed("0.12.0"), new);
    }
}
