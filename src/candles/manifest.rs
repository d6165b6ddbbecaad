//! The manifests of the workspace in which workers of another candle are built.

use std::path::{Path, PathBuf};

use anyhow::Context;
use toml::{Table, Value};

use super::compiler::profile;
use super::crates::{Crates, dependencies, package_of};
use crate::CANDLE;
use crate::program::half_for;

/// The package that has the worker.
pub const WORKER: &str = "worker";

/// What of a manifest no worker needs.
const SUPERFLUOUS: [&str; 6] = ["example", "bench", "test", "bin", "dev-dependencies", "lints"];

/// The dependencies that a manifest lists, to be changed.
fn dependencies_mut(manifest: &mut Table) -> Vec<(&String, &mut Value)> {
    let mut found = Vec::new();
    for (key, value) in manifest.iter_mut().filter_map(|(key, value)| Some((key, value.as_table_mut()?))) {
        match key.as_str() {
            "dependencies" | "build-dependencies" => found.extend(value.iter_mut()),
            "target" => {
                found.extend(value.iter_mut().filter_map(|(_, it)| it.as_table_mut()).flat_map(dependencies_mut));
            }
            _ => {}
        }
    }
    found
}

/// A manifest without what no worker needs.
pub fn without_superfluous(manifest: &Table) -> Table {
    let mut manifest = manifest.clone();
    manifest.retain(|key, _| !SUPERFLUOUS.contains(&key));
    manifest
}

/// The manifest of a crate of candle in the workspace.
pub fn of_candle(manifest: &Table, crates: &Crates) -> Table {
    let mut manifest = without_superfluous(manifest);
    for (key, spec) in dependencies_mut(&mut manifest) {
        relocate(key, spec, crates, "../");
    }
    manifest
}

/// Lets a dependency by path lead to the copy in the workspace, or to a release if there is no copy.
fn relocate(key: &str, spec: &mut Value, crates: &Crates, prefix: &str) {
    let package = package_of(key, spec, &Table::new());
    let Some(spec) = spec.as_table_mut().filter(|spec| spec.contains_key("path")) else { return };
    if crates.own.contains_key(&package) {
        spec.insert("path".into(), format!("{prefix}{package}").into());
        return;
    }
    spec.remove("path");
    if package.starts_with("candle-") {
        spec.insert("version".into(), format!("={CANDLE}").into());
    }
}

/// The folders, in the project, of the crates of its own that the library depends on.
pub fn crates_beside(own: &Table) -> impl Iterator<Item = &str> {
    dependencies(own).filter_map(|(_, spec)| spec.get("path")?.as_str())
}

/// The manifest of the library in the workspace, made from its own. Crates of the project that it depends on stay in `project`.
pub fn of_library(own: &Table, crates: &Crates, project: &Path) -> anyhow::Result<Table> {
    let shared = own["workspace"]["package"].as_table().context("the project has no [workspace.package]")?;
    let mut package = own["package"].as_table().context("the project has no [package]")?.clone();
    for (key, value) in shared {
        package.insert(key.clone(), value.clone());
    }
    package.remove("default-run");
    let mut manifest = Table::from_iter([("package".to_string(), package.into())]);
    for key in ["lib", "features", "dependencies"] {
        manifest.insert(key.into(), own[key].clone());
    }
    // Older candles lack it, and Cargo asks for features that nobody uses, too.
    if let Some(features) = manifest["features"].as_table_mut().filter(|_| !crates.cudnn) {
        features.remove("cudnn");
    }
    // The flag of workers of older candles is known to the compiler.
    let known = own["workspace"]["lints"]["rust"]["unexpected_cfgs"].clone();
    let lints = Table::from_iter([("unexpected_cfgs".to_string(), known)]);
    manifest.insert("lints".into(), Table::from_iter([("rust".to_string(), lints.into())]).into());
    let wanted = manifest["dependencies"].as_table_mut().context("the project has no [dependencies]")?;
    for path in wanted.iter_mut().filter_map(|(_, spec)| spec.get_mut("path")) {
        *path = project.join(path.as_str().context("a path is a text")?).display().to_string().into();
    }
    for name in ["candle-core", "candle-nn"] {
        let is_own = crates.own.contains_key(name);
        // Both have candle's version: it is the one that the library says it has.
        let mut spec = Table::from_iter([("version".to_string(), format!("={}", crates.version).into())]);
        if is_own {
            spec.insert("path".into(), format!("../{name}").into());
        }
        wanted.insert(name.into(), spec.into());
    }
    // Their types are candle's, so that the versions must be.
    let of_candle = crates.get("candle-core")?.manifest;
    for (name, spec) in dependencies(&of_candle).filter(|(name, _)| ["float8", "half"].contains(&name.as_str())) {
        let inherited = || crates.workspace.get("dependencies")?.get(name);
        let spec = if spec.get("workspace").is_some() { inherited().unwrap_or(spec) } else { spec };
        let only = half_for(&crates.version).filter(|_| name == "half");
        if let Some(version) = only.or_else(|| spec.get("version").unwrap_or(spec).as_str()) {
            wanted.insert(name.clone(), version.into());
        }
    }
    Ok(manifest)
}

/// The name of the worker's executable in the workspace `name`.
pub fn executable(name: &str) -> String {
    format!("snuffer-worker-{}", name.replace('.', "-"))
}

/// The features of the library that a worker with candle's CUDA backend has.
fn cuda_features(crates: &Crates) -> Value {
    Value::from(vec![if crates.cudnn { "snuffer/cudnn" } else { "snuffer/cuda" }])
}

/// The manifest of the workspace `name`, whose packages are in a folder of that name, and of the worker's package. It has our profile,
/// so that Cargo does not build dependencies again.
pub fn of_workspace(own: &Table, crates: &Crates, name: &str) -> anyhow::Result<String> {
    let packages = format!("{name}/");
    let mut workspace = Table::from_iter([("resolver".to_string(), own["workspace"]["resolver"].clone())]);
    for key in ["package", "dependencies"] {
        if let Some(Value::Table(inherited)) = crates.workspace.get(key) {
            let mut inherited = inherited.clone();
            inherited.iter_mut().for_each(|(key, spec)| relocate(key, spec, crates, &packages));
            workspace.insert(key.into(), inherited.into());
        }
    }
    let rest = Table::from_iter([
        ("workspace".to_string(), workspace.into()),
        ("patch".to_string(), patch(crates, &packages)),
        ("profile".to_string(), profile(own, &[])?.into()),
    ]);
    let features = cuda_features(crates);
    Ok(format!(
        r#"[package]
name = "{WORKER}"
version = "0.0.0"
edition = "2024"
publish = false

[features]
cuda = {features}

[dependencies]
snuffer = {{ path = "{packages}snuffer", default-features = false, features = ["cli-dependencies", "worker"] }}

[[bin]]
name = "{}"
path = "src/main.rs"

{rest}"#,
        executable(name)
    ))
}

/// The manifest of the package with the fuzz targets, made from their own. It lies beside the workspace `name`, whose library it links;
/// the sources of the targets stay in `project`.
pub fn of_fuzz(own: &Table, crates: &Crates, name: &str, project: &Path) -> anyhow::Result<Table> {
    let (mut manifest, fuzz) = (own.clone(), project.join("fuzz"));
    let packages = format!("../workspace/{name}");
    let text = |path: PathBuf| Value::from(path.display().to_string());
    // Cargo takes packages of one name in two workspaces for the same, and what is built of one for the other.
    let package = manifest["package"].as_table_mut().context("the fuzz targets have no [package]")?;
    let library = package["name"].as_str().context("the package has a name")?.replace('-', "_");
    package.insert("name".into(), format!("{library}-{}", name.replace('.', "-")).into());
    let library = [("name".to_string(), library.into()), ("path".to_string(), text(fuzz.join("src/lib.rs")))];
    manifest.insert("lib".into(), Table::from_iter(library).into());
    let dependencies = manifest["dependencies"].as_table_mut().context("the fuzz targets have no [dependencies]")?;
    for (key, path) in
        [("simulator", text(project.join("simulator"))), ("snuffer", format!("{packages}/snuffer").into())]
    {
        let spec = dependencies[key].as_table_mut().with_context(|| format!("{key} is a path"))?;
        spec.insert("path".into(), path);
    }
    let features = manifest["features"].as_table_mut().context("the fuzz targets have no [features]")?;
    features.insert("cuda".into(), cuda_features(crates));
    for target in manifest["bin"].as_array_mut().context("there are fuzz targets")? {
        let source = fuzz.join(target["path"].as_str().context("a target has a file")?);
        target.as_table_mut().context("a target is a table")?.insert("path".into(), text(source));
    }
    manifest.insert("patch".into(), patch(crates, &format!("{packages}/")));
    Ok(manifest)
}

/// Lets every crate that depends on one of `crates` have the copy in the folder `prefix`.
fn patch(crates: &Crates, prefix: &str) -> Value {
    let path = |name: &String| Table::from_iter([("path".to_string(), format!("{prefix}{name}").into())]);
    let patches: Table = crates.own.keys().map(|name| (name.clone(), path(name).into())).collect();
    Table::from_iter([("crates-io".to_string(), patches.into())]).into()
}
