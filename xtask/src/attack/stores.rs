//! Damaged and hostile stores, through all commands that read one: everything else is there, and nothing is changed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::ensure;
use rand_core::Rng;
use rand_pcg::Pcg64Mcg;

use super::ground::{DEADLINE, Ground, Stored, files, listed};
use super::judge::run;
use super::mutate::{below, damaged, hostile, one_of};

/// Commands that read a store and change nothing in it. `NAME` is that of a finding.
const READERS: [&[&str]; 16] = [
    &["findings", "show", "NAME", "--store", "store"],
    &["findings", "show", "NAME", "--json", "--store", "store"],
    &["findings", "list", "--store", "store"],
    &["findings", "similar", "--store", "store"],
    &["findings", "summary", "--store", "store"],
    &["findings", "summary", "--format", "markdown", "--store", "store"],
    &["findings", "export", "--format", "sarif", "--store", "store"],
    &["findings", "export", "--format", "junit", "--store", "store"],
    &["findings", "issues", "--store", "store"],
    &["causes", "--store", "store"],
    &["history", "--store", "store", "--history", "h.sqlite"],
    &["history", "--campaigns", "--json", "--store", "store", "--history", "h.sqlite"],
    &["site", "--into", "site", "--store", "store"],
    &["triage", "--store", "store"],
    &["replay", "NAME", "--device", "cpu", "--timeout", "2s", "--memory", "1024", "--store", "store"],
    &["report", "NAME", "--no-program", "--conditions", "2s", "--timeout", "2s", "--store", "store"],
];
/// Exit codes of a command that reads a store.
const READ: [i32; 5] = [0, 1, 2, 5, 6];

/// Damages one file of a store, and reads the store with some commands.
pub fn experiment(ground: &Ground, rng: &mut Pcg64Mcg) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let Stored { folder: good, names } = ground.stored()?;
    let store = folder.path().join("store");
    copy(&good.path().join("store"), &store)?;
    let all = files(&store, "")?;
    let path = all[below(rng, all.len())].clone();
    damage(rng, &path, &all)?;
    let name = |path: &Path| path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned();
    let hit = name(&path);
    let before = contents(&store, &path)?;
    let check = |found: BTreeSet<String>, what: &str| {
        let missing: Vec<_> = names.iter().filter(|name| **name != hit && !found.contains(*name)).collect();
        ensure!(missing.is_empty(), "{what} lacks {missing:?}");
        Ok(())
    };
    let list = ground.list(folder.path())?;
    let found = listed(&list)?;
    ensure!(
        !names.contains(&hit) || found.contains(&hit) || (list.code() == Some(5) && list.stderr.contains(&hit)),
        "{hit} is left out without a word"
    );
    check(found, "the list")?;
    for _ in 0..3 {
        let reader = READERS[below(rng, READERS.len())];
        let chosen = names.iter().nth(below(rng, names.len())).map_or("none", String::as_str);
        let chosen = if names.contains(&hit) && below(rng, 2) == 0 { &hit } else { chosen };
        let args: Vec<&str> = reader.iter().map(|arg| if *arg == "NAME" { chosen } else { *arg }).collect();
        run(&mut ground.command(folder.path(), &args), DEADLINE)?.survived(&READ)?;
    }
    fs::create_dir(folder.path().join("merged"))?;
    run(&mut ground.command(folder.path(), &["merge", "store", "--into", "merged/store"]), DEADLINE)?
        .survived(&READ)?;
    check(listed(&ground.list(&folder.path().join("merged"))?)?, "the merged store")?;
    ensure!(contents(&store, &path)? == before, "a file of the store is changed");
    Ok(())
}

/// Makes something bad of a file.
fn damage(rng: &mut Pcg64Mcg, path: &Path, all: &[PathBuf]) -> anyhow::Result<()> {
    let content = fs::read(path)?;
    match rng.next_u64() % 10 {
        0 => {
            fs::remove_file(path)?;
            let to = path.file_name().unwrap_or_default();
            let elsewhere = ["nowhere", "/etc/passwd", "/dev/zero", ".."].map(std::ffi::OsStr::new);
            symlink(one_of(rng, &[&elsewhere[..], &[to]].concat()), path)?;
        }
        1 => {
            fs::remove_file(path)?;
            fs::create_dir(path)?;
        }
        2 => {
            fs::remove_file(path)?;
            ensure!(Command::new("mkfifo").arg(path).status()?.success(), "mkfifo failed");
        }
        3..6 => {
            let others: Vec<Vec<u8>> = all.iter().map(fs::read).collect::<Result<_, _>>()?;
            fs::write(path, damaged(rng, &content, &others))?;
        }
        // A store from elsewhere: without a checksum, its texts and numbers are read.
        _ => {
            let text = String::from_utf8_lossy(&content);
            let unchecked = text.lines().filter(|line| !line.starts_with("# checksum")).collect::<Vec<_>>().join("\n");
            fs::write(path, hostile(rng, &unchecked))?;
        }
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    for path in files(from, "")? {
        let copy = to.join(path.strip_prefix(from)?);
        fs::create_dir_all(copy.parent().unwrap_or(to))?;
        fs::copy(&path, copy)?;
    }
    Ok(())
}

/// The files of a store that readers must leave alone; `damaged` may be repaired.
fn contents(store: &Path, damaged: &Path) -> anyhow::Result<BTreeMap<PathBuf, Vec<u8>>> {
    let kept = files(store, "")?.into_iter().filter(|path| path != damaged && !path.ends_with(".lock"));
    kept.map(|path| Ok((path.clone(), fs::read(path)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// What becomes of an experiment if `snuffer` is this script.
    fn with(script: &str) -> Result<(), String> {
        let folder = tempfile::tempdir().expect("a folder");
        let names: BTreeSet<String> = ["a", "b"].map(str::to_string).into();
        for name in &names {
            let kept = folder.path().join("store").join(name);
            fs::create_dir_all(&kept).and_then(|()| fs::write(kept.join("finding.toml"), "x = 1\n")).expect("made");
        }
        let snuffer = folder.path().join("snuffer");
        fs::write(&snuffer, format!("#!/bin/sh\n{script}\n")).expect("written");
        fs::set_permissions(&snuffer, fs::Permissions::from_mode(0o755)).expect("executable");
        let mut ground = Ground::of(snuffer);
        ground.store = Some(Stored { folder, names });
        let mut rng = <Pcg64Mcg as rand_core::SeedableRng>::seed_from_u64(1);
        experiment(&ground, &mut rng).map_err(|problem| format!("{problem:#}"))
    }

    const LIST: &str = r#"printf '{"name":"a"}\n{"name":"b"}\n'"#;

    #[test]
    fn a_command_that_panics_loses_a_finding_or_writes_into_the_store_is_lost() {
        assert_eq!(with(LIST), Ok(()));
        for (script, problem) in [
            ("echo panicked >&2; exit 101".to_string(), "panicked"),
            (r#"printf '{"name":"none"}\n'"#.to_string(), "left out without a word"),
            (r#"echo a b >&2; printf '{"name":"none"}\n'; exit 5"#.to_string(), "lacks"),
            (format!("{LIST}; case $1 in merge) rm -r store;; esac"), "No such file"),
            (
                format!(
                    "{LIST}; case $1 in merge) echo more >> store/a/finding.toml; echo more >> store/b/finding.toml;; esac"
                ),
                "changed",
            ),
        ] {
            let lost = with(&script);
            assert!(lost.as_ref().is_err_and(|shown| shown.contains(problem)), "{script}: {lost:?}");
        }
    }
}
