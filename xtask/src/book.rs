//! `cargo xtask book`: the documentation as a book with a search, by mdBook.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, ensure};

use crate::shell::{cargo, say, target};

/// The release of mdBook.
const VERSION: &str = "0.5.4";

/// Arguments of `cargo xtask book`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Open it in the browser.
    #[arg(long)]
    open: bool,
}

/// Installs mdBook below the target folder, builds the book and prints the path of its first page. Returns 0.
pub fn run(args: &Args) -> anyhow::Result<u8> {
    let mut book = Command::new(mdbook()?);
    book.arg("build").args(args.open.then_some("--open"));
    ensure!(book.status().context("cannot run mdBook")?.success(), "mdBook cannot build the book");
    println!("{}", target()?.join("book/index.html").display());
    Ok(0)
}

/// The program, which is built the first time.
fn mdbook() -> anyhow::Result<PathBuf> {
    let root = target()?.join("tools").join(format!("mdbook-{VERSION}"));
    let program = root.join("bin/mdbook");
    if !program.is_file() {
        say("building mdBook (minutes the first time)");
        let mut install = cargo();
        install
            .args([
                "install",
                "mdbook",
                "--version",
                VERSION,
                "--locked",
                "--quiet",
                "--no-default-features",
                "--features",
                "search",
                "--root",
            ])
            .arg(&root);
        ensure!(install.status()?.success(), "cargo cannot install mdBook {VERSION}");
    }
    Ok(program)
}
