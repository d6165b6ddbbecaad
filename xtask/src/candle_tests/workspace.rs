//! Builds the tests of the published candle packages in a separate workspace under `target`.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use serde_json::Value;
use snuffer_toolkit::{Toolkit, once};

use crate::set_up::step;
use crate::shell::{cargo, target};
use crate::sources::{self, PACKAGES, copy};

/// The package with the kernels.
pub const KERNELS: &str = "candle-kernels";
/// Our tests of kernels that no test of candle launches.
const OURS: (&str, &str) = ("candle-core/tests/quantized_dmmv.rs", include_str!("quantized.rs"));
/// Packages with settings in our profile that candle does not depend on.
const OURS_ALONE: [&str; 4] = ["clap_builder", "jiff", "ndarray", "schemars"];
/// Tests of candle that run on CUDA although their names do not show it.
const MORE: [&str; 1] = ["allocates_twice_when_transferring_to_same_device"];

/// An executable with tests.
pub struct Binary {
    /// Package and target, such as `candle-core/tensor_tests`.
    name: String,
    path: PathBuf,
    /// The package's folder: tests read files there.
    folder: PathBuf,
}

/// A test.
pub struct Test {
    /// The name of its executable.
    pub binary: String,
    /// Its name in the executable.
    pub name: String,
    path: PathBuf,
    folder: PathBuf,
}

/// Copies the packages and builds their tests, for CUDA if there is a toolkit. The packages are those of `candle`, if it is given.
pub fn build(toolkit: Option<&Toolkit>, candle: Option<&Path>) -> anyhow::Result<Vec<Binary>> {
    let (name, sources) = match candle {
        Some(candle) => ("edited", in_folder(candle)?),
        None => ("workspace", sources::candle()?),
    };
    let on = if toolkit.is_some() { "" } else { "-cpu" };
    // The folder of the packages has the workspace's name: Cargo tells packages of workspaces that share a target folder apart by their
    // path in the workspace alone, and would take those of another candle for built.
    let name = format!("{name}{on}");
    let folder = target()?.join("candle-tests").join(&name);
    let kernels = candle.map(|candle| candle.join(KERNELS)).filter(|kernels| kernels.is_dir());
    let manifest = manifest(&name, kernels.as_deref())?;
    let (path, text) = OURS;
    let mut contents = DefaultHasher::new();
    sources.iter().try_for_each(|source| hash(source, &mut contents))?;
    once(&folder, &format!("{sources:?} {:x}\n{manifest}\n{text}", contents.finish()), |folder| {
        let packages = folder.join(&name);
        for (package, source) in PACKAGES.iter().zip(&sources) {
            copy(source, &packages.join(package))?;
            simplify(&packages.join(package).join("Cargo.toml"))?;
        }
        if toolkit.is_some() {
            fs::write(packages.join(path), text)?;
        }
        // The same versions as in the worker, so that the kernels are compiled only once.
        fs::copy("Cargo.lock", folder.join("Cargo.lock"))?;
        Ok(fs::write(folder.join("Cargo.toml"), &manifest)?)
    })?;
    let mut cargo = cargo();
    cargo.current_dir(&folder).env("CARGO_TARGET_DIR", target()?).stderr(Stdio::inherit());
    cargo.args(["test", "--no-run", "--workspace", "--lib", "--tests", "--message-format=json-render-diagnostics"]);
    if let Some(toolkit) = toolkit {
        cargo.args(["--features", "candle-core/cuda,candle-nn/cuda"]);
        toolkit.equip(&mut cargo)?;
    }
    let output = step("building candle's tests", "four minutes on a new machine", || {
        let output = cargo.output()?;
        ensure!(output.status.success(), "candle's tests did not build");
        Ok(output)
    })?;
    let messages = std::str::from_utf8(&output.stdout)?.lines().map(serde_json::from_str::<Value>);
    let binaries = messages.map(|message| Binary::read(&message?)).filter_map(Result::transpose);
    let mut binaries = binaries.collect::<anyhow::Result<Vec<_>>>()?;
    // Cargo reports them in the order in which they finish.
    binaries.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(binaries)
}

impl Binary {
    /// The executable in a message of Cargo, if there is one.
    fn read(message: &Value) -> anyhow::Result<Option<Self>> {
        let Some(path) = message["executable"].as_str() else { return Ok(None) };
        let manifest = Path::new(message["manifest_path"].as_str().context("no manifest_path")?);
        let folder = manifest.parent().context("a manifest is in a folder")?;
        let package = folder.file_name().context("a package's folder has a name")?.to_string_lossy();
        let target = message["target"]["name"].as_str().context("no target")?;
        Ok(Some(Self { name: format!("{package}/{target}"), path: path.into(), folder: folder.into() }))
    }

    /// Its tests, listed with the libraries in `library`.
    pub fn tests(self, library: Option<&Path>) -> anyhow::Result<Vec<Test>> {
        let output = command(&self.path, &self.folder, library).args(["--list", "--format=terse"]).output()?;
        ensure!(output.status.success(), "{}: {}", self.name, String::from_utf8_lossy(&output.stderr));
        let lines = String::from_utf8(output.stdout)?;
        let names = lines.lines().filter_map(|line| line.strip_suffix(": test"));
        let test = |name: &str| Test {
            binary: self.name.clone(),
            name: name.to_string(),
            path: self.path.clone(),
            folder: self.folder.clone(),
        };
        Ok(names.map(test).collect())
    }
}

impl Test {
    /// The name of the test in the report.
    pub fn label(&self) -> String {
        format!("{} {}", self.binary, self.name)
    }

    /// Whether it runs on CUDA.
    pub fn is_on_cuda(&self) -> bool {
        self.name.contains("cuda") || self.name.ends_with("_gpu") || MORE.contains(&self.name.as_str())
    }

    /// The command that runs only this test.
    pub fn command(&self, library: Option<&Path>) -> Command {
        let mut command = command(&self.path, &self.folder, library);
        command.args(["--exact", &self.name, "--nocapture", "--test-threads=1"]);
        command
    }
}

fn command(path: &Path, folder: &Path, library: Option<&Path>) -> Command {
    let mut command = Command::new(path);
    // One test copies from one device to another.
    command.current_dir(folder).env("SNUFFER_SIM_DEVICES", "2").env("RUST_BACKTRACE", "0");
    // A fix checks ids under it.
    command.env("CANDLE_CUDA_CHECK_IDS", "1");
    if let Some(library) = library {
        command.env("LD_LIBRARY_PATH", library);
    }
    command
}

/// The folders of candle-core and candle-nn in `candle`.
fn in_folder(candle: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let candle = fs::canonicalize(candle).with_context(|| format!("there is no folder {}", candle.display()))?;
    let folders = PACKAGES.map(|name| candle.join(name));
    let missing = folders.iter().find(|folder| !folder.join("Cargo.toml").is_file());
    ensure!(missing.is_none(), "{} has no {}", candle.display(), PACKAGES.join(" and "));
    Ok(folders.to_vec())
}

/// The manifest of the workspace with the packages in `folder`. It has our profile, so that Cargo does not build dependencies again. Only
/// candle is not optimized: its tests spend their time on the device, and there are thirty executables of them to compile.
fn manifest(folder: &str, kernels: Option<&Path>) -> anyhow::Result<String> {
    let ours: toml::Table = fs::read_to_string("Cargo.toml")?.parse()?;
    let mut dev = ours["profile"]["dev"].clone();
    let packages = dev["package"].as_table_mut().context("the profile has settings for packages")?;
    // Cargo warns of settings for packages that a workspace does not have.
    packages.retain(|name, _| !name.starts_with("snuffer") && !OURS_ALONE.contains(&name));
    for name in PACKAGES {
        packages.insert(name.into(), toml::Table::from_iter([("opt-level".to_string(), 0.into())]).into());
    }
    let mut workspace = toml::Table::new();
    let member = |package: &str| format!("{folder}/{package}");
    workspace.insert("members".into(), PACKAGES.map(member).to_vec().into());
    workspace.insert("resolver".into(), ours["workspace"]["resolver"].clone());
    let patch =
        |name: &str, path: &str| (name.to_string(), toml::Table::from_iter([("path".into(), path.into())]).into());
    let mut patches: toml::Table = PACKAGES.into_iter().map(|name| patch(name, &member(name))).collect();
    if let Some(kernels) = kernels {
        patches.extend([patch(KERNELS, &fs::canonicalize(kernels)?.to_string_lossy())]);
    }
    let manifest = toml::Table::from_iter([
        ("workspace".into(), workspace.into()),
        ("patch".into(), toml::Table::from_iter([("crates-io".into(), patches.into())]).into()),
        ("profile".into(), toml::Table::from_iter([("dev".to_string(), dev)]).into()),
    ]);
    Ok(manifest.to_string())
}

/// Removes from a manifest what the tests do not need, and what hides our added tests from Cargo: the list of tests, all in their usual place.
fn simplify(path: &Path) -> anyhow::Result<()> {
    let mut manifest: toml::Table = fs::read_to_string(path)?.parse()?;
    for key in ["example", "bench", "test"] {
        manifest.remove(key);
    }
    if let Some(toml::Value::Table(package)) = manifest.get_mut("package") {
        package.remove("autotests");
    }
    if let Some(toml::Value::Table(needed)) = manifest.get_mut("dev-dependencies") {
        needed.retain(|name, _| name != "clap" && name != "criterion");
    }
    Ok(fs::write(path, manifest.to_string())?)
}

/// Adds the files of `folder` to `hasher`: an edit of them makes the workspace anew.
fn hash(folder: &Path, hasher: &mut DefaultHasher) -> anyhow::Result<()> {
    let mut paths = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<anyhow::Result<Vec<_>>>()?;
    paths.sort();
    for path in paths {
        path.hash(hasher);
        if path.is_dir() { hash(&path, hasher)? } else { fs::read(&path)?.hash(hasher) }
    }
    Ok(())
}
