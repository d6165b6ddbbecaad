//! What a user's shell hands down: garbage in a variable, and limits. No verdict depends on it.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::process::Command;

use anyhow::Context;
use rand_core::Rng;
use rand_pcg::Pcg64Mcg;

use super::ground::{DEADLINE, Ground, PASSING};
use super::judge::{DOCUMENTED, run};
use super::mutate::{below, one_of};

const GARBAGE: [&[u8]; 16] = [
    b"",
    b"garbage",
    b"0",
    b"-1",
    b"18446744073709551616",
    b"1e308",
    b"nan",
    b"a,b,,;=:#1",
    b"\xff\xfe",
    b"\x1b[2J\n::error::red",
    b"/dev/null",
    b"/dev/full",
    b"/proc/self/mem",
    b"$(touch hacked)",
    b"%s%n",
    b"LONG",
];

/// Garbage in one variable.
pub fn variable(ground: &Ground, rng: &mut Pcg64Mcg) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("case.toml"), PASSING)?;
    let variable = &ground.variables[below(rng, ground.variables.len())];
    let value = match one_of(rng, &GARBAGE) {
        b"LONG" => OsString::from("a".repeat(100_000)),
        value => OsString::from_vec(value.to_vec()),
    };
    let simulated: &[&str] = &["replay", "case.toml", "--device", "sim:0"];
    let args = match rng.next_u64() % 4 {
        0..2 if ground.mutants.is_some() => simulated,
        0..2 => &["replay", "case.toml", "--device", "cpu"],
        2 => &["findings", "list"],
        _ => &["hunt", "--ops", "canary", "--cases", "5", "--jobs", "1", "--device", "cpu"],
    };
    let shown = format!("{variable}={}", value.to_string_lossy().chars().take(40).collect::<String>());
    run(ground.command(folder.path(), args).env(variable, value), DEADLINE)
        .and_then(|ended| ended.survived(&DOCUMENTED).map(drop))
        .context(shown.escape_default().to_string())
}

/// A limit, and values of it from what is hardly enough to start a program on. All but files are in KiB.
const LIMITS: [(&str, &[&str]); 4] = [
    ("-s", &["256", "512", "1024", "65536", "unlimited"]),
    ("-v", &["400000", "800000", "1500000", "3000000", "6000000"]),
    ("-n", &["8", "12", "16", "20", "32", "64", "1024"]),
    ("-f", &["4", "8", "64", "1024"]),
];

/// A limit of the shell: a case that passes does so, or the reason is said.
pub fn limit(ground: &Ground, rng: &mut Pcg64Mcg) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("case.toml"), PASSING)?;
    let args: &[&str] = match rng.next_u64() % 3 {
        0 => &["hunt", "--ops", "canary", "--cases", "5", "--jobs", "2", "--device", "cpu"],
        _ => &["replay", "case.toml", "--device", "cpu"],
    };
    let (limit, values) = LIMITS[below(rng, LIMITS.len())];
    let limits = format!("ulimit {limit} {}", one_of(rng, values));
    let mut shell = under(&limits, &ground.command(folder.path(), args), folder.path());
    run(&mut shell, DEADLINE).and_then(|ended| ended.survived(&[0, 1, 3, 5]).map(drop)).context(limits)
}

/// `command`, started by a shell after some commands of its own.
fn under(commands: &str, command: &Command, folder: &Path) -> Command {
    let mut shell = Command::new("bash");
    shell.args(["-c", &format!("{commands}; exec \"$0\" \"$@\"")]);
    shell.arg(command.get_program()).args(command.get_args()).current_dir(folder);
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove::<&OsStr>(name),
        };
    }
    shell
}
