//! `cargo xtask dist`: the release archive. It runs on a Linux without Rust, has the simulated device, and nothing of NVIDIA.

pub mod gpu;
mod licences;
mod nvidia;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};

use crate::set_up::{self, Devices};
use crate::shell::{say, target};

/// The executables, in `bin`. They look for each other there, and for the driver in `../simulator/lib`.
const EXECUTABLES: [&str; 5] =
    ["snuffer", "snuffer-worker", "snuffer-worker-unchecked", "snuffer-worker-cuda", "snuffer-worker-cuda-unchecked"];
/// The folder of the simulated device's driver.
const DRIVER: &str = "simulator/lib";
/// Texts, and the cases that `snuffer` knows: `snuffer regressions` replays them.
const FILES: [&str; 5] = ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT", "corpora/regressions"];
/// A case of the archive that fails on the simulated device and is refused on the CPU.
const CASE: &str = "corpora/regressions/loss.cross_entropy/label-out-of-range-asserts/case.toml";

/// Arguments of `cargo xtask dist`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Make an archive for a machine with a GPU and without Rust instead: `gpu-report` in it asks the GPU everything that only
    /// hardware answers. Linked kernels get machine code for these architectures.
    #[arg(long, value_name = "ARCHITECTURES", num_args = 0..=1, default_missing_value = "90a", value_delimiter = ',')]
    gpu: Option<Vec<String>>,
}

/// Builds everything and makes the archive and its checksum. Returns 0.
pub fn run(args: &Args) -> anyhow::Result<u8> {
    if let Some(architectures) = &args.gpu {
        return gpu::run(architectures);
    }
    ensure!(
        Devices::ALL.can_be_simulated(),
        "archives are built on x86-64 Linux without a GPU, where the simulated device runs"
    );
    set_up::with_unchecked_cuda(Devices::ALL)?;
    let name = format!("snuffer-{}-x86_64-unknown-linux-gnu", env!("CARGO_PKG_VERSION"));
    let dist = target()?.join("dist");
    let archive = dist.join(format!("{name}.tar.gz"));
    say("filling the archive");
    let root = emptied(&dist.join(&name))?;
    fill(&root)?;
    let files = nvidia::check(&root)?;
    pack(&dist, &name, &archive)?;
    say("trying it out in another folder");
    try_out(&archive, &emptied(&dist.join("trial"))?.join(&name))?;
    let megabytes = fs::metadata(&archive)?.len() / 1_000_000;
    println!("{}: {megabytes} MB, {files} files, none of NVIDIA", archive.display());
    Ok(0)
}

/// `folder`, new and empty.
pub fn emptied(folder: &Path) -> anyhow::Result<PathBuf> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder.to_path_buf())
}

/// Copies everything that belongs into the archive to `root`.
fn fill(root: &Path) -> anyhow::Result<()> {
    let (target, bin) = (target()?, root.join("bin"));
    fs::create_dir_all(&bin)?;
    for name in EXECUTABLES {
        strip(&target.join("debug").join(name), &bin.join(name))?;
    }
    describe_commands(root)?;
    copy(&target.join(DRIVER), &root.join(DRIVER))?;
    for file in FILES {
        copy(Path::new(file), &root.join(file))?;
    }
    licences::collect(&root.join("licences"))
}

/// Copies an executable without the tables that lead to source lines, which are most of it.
fn strip(from: &Path, to: &Path) -> anyhow::Result<()> {
    succeed(Command::new("strip").arg("--strip-debug").arg("-o").arg(to).arg(from))
}

/// Writes the man pages, and the scripts by which shells complete commands.
fn describe_commands(root: &Path) -> anyhow::Result<()> {
    let snuffer = || Command::new(root.join("bin/snuffer"));
    succeed(snuffer().arg("man").arg(root.join("man/man1")))?;
    fs::create_dir_all(root.join("completions"))?;
    for (shell, file) in [("bash", "snuffer.bash"), ("fish", "snuffer.fish"), ("zsh", "_snuffer")] {
        let output = snuffer().args(["completions", shell]).output().context("cannot run the archive's snuffer")?;
        ensure!(output.status.success(), "`snuffer completions {shell}` failed");
        fs::write(root.join("completions").join(file), output.stdout)?;
    }
    Ok(())
}

/// Copies a file or a folder with its links.
fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(to.parent().context("a file in the archive")?)?;
    succeed(Command::new("cp").args(["--recursive", "--no-dereference"]).args([from, to]))
}

/// Packs the folder `name` of `dist`. The same files make the same archive.
fn pack(dist: &Path, name: &str, archive: &Path) -> anyhow::Result<()> {
    let mut tar = Command::new("tar");
    tar.args(["--create", "--use-compress-program", "gzip -9n", "--sort", "name", "--mtime", "@0", "--numeric-owner"]);
    succeed(tar.args(["--owner", "0", "--group", "0", "--directory"]).arg(dist).arg("--file").arg(archive).arg(name))?;
    let file = archive.file_name().context("an archive has a name")?;
    let sum = Command::new("sha256sum").arg(file).current_dir(dist).output().context("cannot run sha256sum")?;
    ensure!(sum.status.success(), "sha256sum failed");
    Ok(fs::write(dist.join(format!("{name}.tar.gz.sha256")), sum.stdout)?)
}

/// Unpacks the archive, whose folder becomes `root`, and runs what is in it.
fn try_out(archive: &Path, root: &Path) -> anyhow::Result<()> {
    let folder = root.parent().context("the archive has one folder")?;
    succeed(Command::new("tar").arg("--extract").arg("--directory").arg(folder).arg("--file").arg(archive))?;
    for (args, code) in [
        (vec!["doctor"], 0),
        (vec!["replay", CASE, "--device", "cpu"], 0),
        (vec!["replay", CASE, "--device", "sim:0"], 2),
        (vec!["replay", CASE, "--device", "cpu,sim:0", "--unchecked"], 2),
    ] {
        let mut snuffer = Command::new(root.join("bin/snuffer"));
        snuffer.args(&args).current_dir(root);
        // Only what is in the archive counts.
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("SNUFFER_")) {
            snuffer.env_remove(name);
        }
        let output = snuffer.output().context("cannot run the archive's snuffer")?;
        let printed = [output.stdout, output.stderr].concat();
        let printed = String::from_utf8_lossy(&printed);
        ensure!(output.status.code() == Some(code), "`snuffer {}` of the archive failed:\n{printed}", args.join(" "));
    }
    Ok(())
}

/// Runs `command`, which must succeed.
pub fn succeed(command: &mut Command) -> anyhow::Result<()> {
    let name = command.get_program().display().to_string();
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("cannot run {name}"))?;
    ensure!(output.status.success(), "{name} failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(())
}
