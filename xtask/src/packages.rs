//! `cargo xtask packages`: packages the crates as they would be published, and uses them from packages alone.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use anyhow::{Context, ensure};
use serde::Deserialize;

use crate::dist::{emptied, succeed};
use crate::shell::{cargo, say, target};

/// A crate that depends on the library by its version, as a user writes it.
const MANIFEST: &str = include_str!("packages/user.toml");
const TESTS: &str = include_str!("packages/tests.rs");
/// Asks the simulated device whether it is there, as a program does that loads the driver.
const PROGRAM: &str = "import ctypes; raise SystemExit(ctypes.CDLL('libcuda.so.1').cuInit(0))";

/// Warnings of Cargo that are as they should be: packages have no tests, and the profile of the workspace is packaged with `snuffer`.
const KNOWN: [&str; 2] =
    ["warning: ignoring ", "warning: profile package spec `snuffer-simulator` in profile `dev` did not match"];

/// Arguments of `cargo xtask packages`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Package what is not committed, too.
    #[arg(long)]
    allow_dirty: bool,
}

/// Packages all crates, and uses them in a folder of their own. Returns 0.
pub fn run(args: &Args) -> anyhow::Result<u8> {
    say("packaging the crates, and building each from its package");
    package(args.allow_dirty)?;
    let work = Work { folder: emptied(&target()?.join("packages"))? };
    say("making a registry of the packages and of all that they depend on");
    work.registry()?;
    say("installing cargo-snuffer, and setting the simulated device up");
    work.install()?;
    work.set_up()?;
    say("testing an empty crate that depends on snuffer");
    work.test_a_crate()?;
    println!("all packages work in {}", work.folder.display());
    Ok(0)
}

/// The crates of the workspace that are published.
fn names() -> anyhow::Result<Vec<String>> {
    #[derive(Deserialize)]
    struct Workspace {
        packages: Vec<Package>,
    }
    #[derive(Deserialize)]
    struct Package {
        name: String,
        /// The registries that it may go to, if not to all.
        publish: Option<Vec<String>>,
    }
    let output =
        cargo().args(["metadata", "--no-deps", "--format-version", "1"]).output().context("cannot run cargo")?;
    let Workspace { packages } = serde_json::from_slice(&output.stdout).context("cannot read the workspace")?;
    Ok(packages.into_iter().filter(|package| package.publish.is_none()).map(|package| package.name).collect())
}

/// Packages the crates, and lets Cargo build each from its package.
fn package(allow_dirty: bool) -> anyhow::Result<()> {
    let mut package = cargo();
    package.args(["package", "--locked"]).args(names()?.iter().flat_map(|name| ["--package", name]));
    if allow_dirty {
        package.arg("--allow-dirty");
    }
    let output = package.stdin(Stdio::null()).output().context("cannot run cargo")?;
    let printed = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`cargo package` failed:\n{printed}");
    let is_known = |line: &&str| KNOWN.iter().any(|known| line.starts_with(known));
    let warnings: Vec<&str> = printed.lines().filter(|line| line.starts_with("warning") && !is_known(line)).collect();
    ensure!(warnings.is_empty(), "`cargo package` warns:\n{}", warnings.join("\n"));
    Ok(())
}

/// The folder in which packages are used. All in it, and nothing outside, takes crates from its registry alone.
struct Work {
    folder: PathBuf,
}

impl Work {
    /// Collects the sources of all crates, as Cargo demands them of a registry that is a folder.
    fn registry(&self) -> anyhow::Result<()> {
        let (crates, config) = (self.folder.join("crates"), self.folder.join(".cargo/config.toml"));
        succeed(cargo().args(["vendor", "--locked", "--versioned-dirs"]).arg(&crates))?;
        for name in names()? {
            let name = format!("{name}-{}", env!("CARGO_PKG_VERSION"));
            let (package, folder) = (target()?.join(format!("package/{name}.crate")), crates.join(name));
            succeed(Command::new("tar").arg("--extract").arg("--directory").arg(&crates).arg("--file").arg(&package))?;
            let sum = Command::new("sha256sum").arg(&package).output().context("cannot run sha256sum")?;
            let sum = String::from_utf8_lossy(&sum.stdout).split(' ').next().unwrap_or_default().to_string();
            fs::write(folder.join(".cargo-checksum.json"), format!("{{\"files\":{{}},\"package\":\"{sum}\"}}"))?;
        }
        fs::create_dir_all(self.folder.join(".cargo"))?;
        let text = format!(
            "[source.crates-io]\nreplace-with = \"packages\"\n[source.packages]\ndirectory = {:?}\n[net]\noffline = true\n",
            crates.display().to_string()
        );
        Ok(fs::write(config, text)?)
    }

    /// `cargo snuffer`, installed as a user does it.
    fn install(&self) -> anyhow::Result<()> {
        let mut install = cargo();
        install.args(["install", "--locked", "cargo-snuffer", "--version", env!("CARGO_PKG_VERSION")]);
        install.arg("--config").arg(self.folder.join(".cargo/config.toml"));
        self.succeed(install.arg("--root").arg(self.folder.join("installed")).current_dir(&self.folder))?;
        self.succeed(self.snuffer().arg("--help"))?;
        let doctor = self.output(self.snuffer().arg("doctor"))?;
        let printed = String::from_utf8_lossy(&doctor.stdout);
        ensure!(printed.contains("MISSING the simulated device in "), "the doctor of a new machine says:\n{printed}");
        Ok(())
    }

    /// The simulated device, built from its packages, which then answers programs.
    fn set_up(&self) -> anyhow::Result<()> {
        self.succeed(self.snuffer().args(["setup", "--yes"]))?;
        self.succeed(self.snuffer().arg("doctor"))?;
        self.succeed(self.snuffer().args(["exec", "python3", "-c", PROGRAM]))
    }

    /// The tests of a crate that has nothing but them, with `cargo test` and with `cargo snuffer test`.
    fn test_a_crate(&self) -> anyhow::Result<()> {
        let user = self.folder.join("user");
        fs::create_dir_all(user.join("tests"))?;
        fs::write(user.join("Cargo.toml"), MANIFEST.replace("VERSION", env!("CARGO_PKG_VERSION")))?;
        fs::write(user.join("lib.rs"), "")?;
        fs::write(user.join("tests/tests.rs"), TESTS)?;
        self.succeed(cargo().arg("test").current_dir(&user))?;
        self.succeed(self.snuffer().arg("test").current_dir(user))
    }

    /// The installed `cargo snuffer`, set up in a folder of its own.
    fn snuffer(&self) -> Command {
        let mut snuffer = Command::new(self.folder.join("installed/bin/cargo-snuffer"));
        snuffer.arg("snuffer").current_dir(&self.folder).env("SNUFFER_HOME", self.folder.join("home"));
        snuffer
    }

    fn succeed(&self, command: &mut Command) -> anyhow::Result<()> {
        let ran = format!("{command:?}");
        let output = self.output(command)?;
        let printed = [output.stdout, output.stderr].concat();
        ensure!(output.status.success(), "{ran} failed:\n{}", String::from_utf8_lossy(&printed));
        Ok(())
    }

    /// Runs `command`, whose builds share a target folder that the project does not use.
    fn output(&self, command: &mut Command) -> anyhow::Result<Output> {
        let output = command.env("CARGO_TARGET_DIR", self.folder.join("build")).stdin(Stdio::null()).output();
        output.with_context(|| format!("cannot run {}", command.get_program().display()))
    }
}
