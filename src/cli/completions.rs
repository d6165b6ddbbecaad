//! `snuffer completions` and `snuffer man`: what shells and `man` read, from the definitions that `--help` shows.

use std::path::PathBuf;

use anyhow::Context;
use clap_complete::Shell;

use super::groups;
use crate::exit_code::Exit;
use crate::store::make_folder;

/// Arguments of `snuffer completions`.
#[derive(Debug, clap::Args)]
pub struct CompletionsArgs {
    /// The shell that reads the script.
    shell: Shell,
}

/// Arguments of `snuffer man`.
#[derive(Debug, clap::Args)]
pub struct ManArgs {
    /// The folder for the pages, such as `~/.local/share/man/man1`; made if it is missing.
    into: PathBuf,
}

/// Prints the script that completes commands.
pub fn completions(args: &CompletionsArgs) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut groups::command(), "snuffer", &mut script);
    print!("{}", String::from_utf8_lossy(&script));
    Exit::Clean
}

/// Writes a page for each command.
pub fn man(args: &ManArgs) -> anyhow::Result<Exit> {
    make_folder(&args.into)?;
    let shown = args.into.display();
    clap_mangen::generate_to(groups::command(), &args.into).with_context(|| format!("cannot write in {shown}"))?;
    println!("{shown}: a page for each command, such as snuffer-hunt.1");
    Ok(Exit::Clean)
}
