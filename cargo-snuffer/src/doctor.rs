//! `cargo snuffer doctor`: what is set up, and what this machine lacks.

use std::process::Command;

use snuffer_toolkit::{has_gpu, remedy, succeeds, there_is_one};

use crate::home::Home;

/// Prints a line for each need. Returns 1 if one is missing.
pub fn run() -> anyhow::Result<u8> {
    let folder = Home::folder()?;
    let mut missing = 0;
    let mut line = |is_there: bool, what: &str, how: &str| {
        missing += u8::from(!is_there);
        println!("{:<8}{what}{}", if is_there { "ok" } else { "MISSING" }, if is_there { "" } else { how });
    };
    line(there_is_one(), "x86-64 Linux", ", the only platform of the simulated device");
    for (what, tool, args) in [
        ("cargo", "Rust", &["--version"][..]),
        ("g++", "C and C++ compiler", &["--version"]),
        ("python3", "Python with pip", &["-m", "pip", "--version"]),
    ] {
        line(succeeds(Command::new(what).args(args)), tool, &format!(": {}", remedy(tool)));
    }
    let set_up = format!("the simulated device in {}", folder.display());
    line(Home::found(&folder).is_some(), &set_up, ": `cargo snuffer setup`");
    if has_gpu() {
        println!("note    this machine has a GPU; `cargo snuffer` does not use it");
    }
    Ok(missing.min(1))
}
