//! The workspace in which workers of another candle are built: copies of its crates and of this library, and a package with the worker.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Instant;

use anyhow::{Context, bail};
use toml::Table;

use super::compiler::{CompileError, errors};
use super::crates::{Crates, files};
use super::left_out::LeftOut;
use super::named::Named;
use super::{Unusable, digest, manifest, write_if_new};
use crate::exec::environment;
use crate::exec::toolkit::Toolkit;
use crate::store::{keep_executable, lock};

/// The project from whose sources this program was built.
const PROJECT: &str = env!("CARGO_MANIFEST_DIR");

/// What of the project the whole library includes besides its sources. Workers need none of it, fuzz targets do.
const INCLUDED: [&str; 2] = ["corpora", "docs"];

/// The compiler's flags for what older candles lack and all ops share: each with a file of candle-core and a text in it that shows that
/// it is there.
const FLAGS: [(&str, &str, &str); 2] =
    [(FEW_DTYPES, "src/dtype.rs", "F8E4M3"), ("no_error_context", "src/error.rs", "    Context {")];

/// The flag of a candle without [`DType::RECENT`](crate::tensor::DType::RECENT).
const FEW_DTYPES: &str = "few_dtypes";

/// How many times ops are left out, at most.
const ROUNDS: usize = 40;

/// A workspace that is not written yet.
#[derive(Debug)]
pub struct Workspace {
    folder: PathBuf,
    described: String,
    /// Its name, which is also that of the folder in it that has the packages: Cargo tells packages of workspaces that share a target
    /// folder apart by their path in the workspace alone, and would take those of another candle for built.
    name: String,
    crates: Crates,
    /// A digest of them.
    pub digest: String,
    flags: Vec<&'static str>,
    /// The project's manifest and lock file.
    manifest: Table,
    lock: Vec<u8>,
    /// The sources of the library, by path in the project.
    sources: BTreeMap<String, Vec<u8>>,
    /// The same of the project's other crates that it depends on. They are not copied.
    beside: BTreeMap<String, Vec<u8>>,
}

impl Workspace {
    /// The workspace for `crates`, below `all`.
    pub fn new(all: &Path, named: &Named, crates: Crates) -> anyhow::Result<Self> {
        let project = Path::new(PROJECT);
        let read = |path: &Path| {
            fs::read(path).map_err(|_| {
                let path = path.display();
                Unusable(format!(
                    "--candle builds workers from the sources of snuffer, but {path} is gone; use a checkout of snuffer"
                ))
            })
        };
        let all_in = |folder: &str| {
            let paths = files(&project.join(folder)).unwrap_or_default().into_iter();
            let named = |path: &Path| path.strip_prefix(project).unwrap_or(path).to_string_lossy().into_owned();
            paths.map(|path| Ok((named(&path), read(&path)?))).collect::<anyhow::Result<BTreeMap<_, _>>>()
        };
        let manifest: Table = String::from_utf8(read(&project.join("Cargo.toml"))?)?.parse()?;
        if !manifest.contains_key("workspace") {
            let problem = "--candle builds workers from a checkout of snuffer, and this program is from a package";
            return Err(Unusable(problem.to_string()).into());
        }
        let mut beside = BTreeMap::new();
        for folder in manifest::crates_beside(&manifest) {
            beside.extend(all_in(folder)?);
        }
        let name = named.folder();
        let core = crates.get("candle-core")?;
        let lacks = |file: &str, text: &str| {
            core.files.get(file).is_some_and(|bytes| !String::from_utf8_lossy(bytes).contains(text))
        };
        Ok(Self {
            flags: FLAGS.iter().filter(|(_, file, text)| lacks(file, text)).map(|(flag, ..)| *flag).collect(),
            folder: all.join(&name).join("workspace"),
            described: named.described(),
            name,
            digest: crates.digest(),
            crates,
            manifest,
            lock: read(&project.join("Cargo.lock"))?,
            sources: all_in("src")?,
            beside,
        })
    }

    /// The folder of candle's crates and of the library.
    fn packages(&self) -> PathBuf {
        self.folder.join(&self.name)
    }

    /// Whether candle lacks [`DType::RECENT`](crate::tensor::DType::RECENT).
    pub fn few_dtypes(&self) -> bool {
        self.flags.contains(&FEW_DTYPES)
    }

    /// A digest of all that a worker is built from.
    pub fn key(&self) -> String {
        let toolkit = stamp();
        let manifest = self.manifest.to_string();
        let sources = self.sources.iter().chain(&self.beside);
        let sources = sources.flat_map(|(path, bytes)| [path.as_bytes(), bytes.as_slice()]);
        let rest = [self.digest.as_bytes(), manifest.as_bytes(), &self.lock, toolkit.as_bytes()];
        digest(rest.into_iter().chain(sources))
    }

    /// Builds the worker, with candle's CUDA backend or without, as the file `worker`. Leaves out ops that do not compile.
    pub fn build(&self, with_cuda: bool, worker: &Path) -> anyhow::Result<()> {
        let _alone = lock(&self.folder)?;
        let (backend, begun) = (if with_cuda { "with" } else { "without" }, Instant::now());
        eprintln!("building  a worker with {}, {backend} CUDA (minutes the first time, then cached)", self.described);
        let mut left_out = LeftOut::default();
        for _ in 0..ROUNDS {
            self.write(&left_out)?;
            let found = match self.cargo(with_cuda)? {
                Ok(executable) => {
                    keep_executable(&executable, worker)?;
                    eprintln!("built     in {:.0} s", begun.elapsed().as_secs_f64());
                    return Ok(());
                }
                Err(found) => found,
            };
            match left_out.blame(&found, &self.packages().join("snuffer/src/ops")) {
                Ok(new) if new.is_empty() => break,
                Ok(new) => new.iter().for_each(|(file, why)| eprintln!("without   src/ops/{file}.rs: {why}")),
                Err(error) => return Err(self.fatal(error).into()),
            }
        }
        bail!("the worker with {} does not compile, whichever ops are left out", self.described)
    }

    /// Writes the package with the fuzz targets beside the workspace, which was built before. Returns its folder.
    pub fn write_fuzz_package(&self) -> anyhow::Result<PathBuf> {
        let project = Path::new(PROJECT);
        for included in INCLUDED {
            for path in files(&project.join(included))? {
                let copy = self.packages().join("snuffer").join(path.strip_prefix(project)?);
                write_if_new(&copy, &fs::read(&path)?)?;
            }
        }
        let folder = self.folder.with_file_name("fuzz");
        let own = fs::read_to_string(project.join("fuzz/Cargo.toml"))?.parse()?;
        let manifest = manifest::of_fuzz(&own, &self.crates, &self.name, project)?.to_string();
        write_if_new(&folder.join("Cargo.toml"), manifest.as_bytes())?;
        if !folder.join("Cargo.lock").is_file() {
            write_if_new(&folder.join("Cargo.lock"), &fs::read(project.join("fuzz/Cargo.lock"))?)?;
        }
        Ok(folder)
    }

    /// Writes the files that changed, and removes those that are not part of the workspace any more.
    fn write(&self, left_out: &LeftOut) -> anyhow::Result<()> {
        let mut content: BTreeMap<PathBuf, Vec<u8>> = BTreeMap::new();
        let root = manifest::of_workspace(&self.manifest, &self.crates, &self.name)?;
        content.insert("Cargo.toml".into(), root.into_bytes());
        let packages = Path::new(&self.name);
        let main = self.sources.get("src/workers/cuda.rs").context("the project has no worker")?;
        content.insert("src/main.rs".into(), main.clone());
        let library = manifest::of_library(&self.manifest, &self.crates, Path::new(PROJECT))?.to_string();
        content.insert(packages.join("snuffer/Cargo.toml"), library.into_bytes());
        if !self.flags.is_empty() {
            let line = |flag: &&str| format!("    println!(\"cargo::rustc-cfg={flag}\");\n");
            let lines: String = self.flags.iter().map(line).collect();
            content.insert(packages.join("snuffer/build.rs"), format!("fn main() {{\n{lines}}}\n").into_bytes());
        }
        for (path, bytes) in &self.sources {
            let bytes = match String::from_utf8(bytes.clone()) {
                Ok(text) => left_out.apply(Path::new(path), text).into_bytes(),
                Err(other) => other.into_bytes(),
            };
            content.insert(packages.join("snuffer").join(path), bytes);
        }
        for (name, one) in &self.crates.own {
            let manifest = manifest::of_candle(&one.manifest, &self.crates).to_string();
            let folder = packages.join(name);
            content.insert(folder.join("Cargo.toml"), manifest.into_bytes());
            content.extend(one.to_build().map(|(path, bytes)| (folder.join(path), bytes)));
        }
        // Cargo adds to it what this candle needs, until ours changes.
        let stamp = self.folder.join("project.lock");
        if fs::read(&stamp).ok().as_ref() != Some(&self.lock) {
            write_if_new(&self.folder.join("Cargo.lock"), &self.lock)?;
            write_if_new(&stamp, &self.lock)?;
        }
        for path in files(&self.folder)? {
            let inside = path.strip_prefix(&self.folder)?;
            let is_ours = inside.components().count() > 1;
            if is_ours && !content.contains_key(inside) {
                fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
            }
        }
        content.iter().try_for_each(|(path, bytes)| write_if_new(&self.folder.join(path), bytes))
    }

    /// The executable, or the errors of the compiler.
    fn cargo(&self, with_cuda: bool) -> anyhow::Result<Result<PathBuf, Vec<CompileError>>> {
        let mut cargo = environment::cargo();
        cargo.current_dir(&self.folder).env("CARGO_TARGET_DIR", environment::target()?);
        cargo.args(["build", "--message-format=json"]).stdin(Stdio::null());
        // The worker says it when it starts (`protocol.rs`).
        cargo.env("SNUFFER_CANDLE_DIGEST", &self.digest);
        if with_cuda {
            toolkit()?.equip(&mut cargo)?;
            cargo.args(["--features", "cuda"]);
        }
        let output = cargo.output().context("cannot run cargo, which builds workers")?;
        if output.status.success() {
            return Ok(Ok(environment::target()?.join("debug").join(manifest::executable(&self.name))));
        }
        let found = errors(&output.stdout, &self.folder)?;
        if found.is_empty() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(Unusable(format!("a worker with {} cannot be built\n{}", self.described, said.trim())).into());
        }
        Ok(Err(found))
    }

    /// An error that leaving out ops does not fix.
    fn fatal(&self, error: &CompileError) -> Unusable {
        let copies = format!("{}/", self.packages().display());
        let (file, _) = &error.places[0];
        let file = file.strip_prefix(self.packages()).unwrap_or(file);
        if file.starts_with("snuffer") {
            let file = file.strip_prefix("snuffer").unwrap_or(file).display();
            return Unusable(format!("snuffer does not compile with {}: {file}: {}", self.described, error.message));
        }
        let root = self.crates.root.as_ref().map_or_else(String::new, |root| format!("{}/", root.display()));
        let rendered = error.rendered.replace(&copies, "").replace(&format!("{}/", self.name), "");
        let rendered = rendered.replace("--> ", &format!("--> {root}"));
        Unusable(format!("{} does not compile\n{}", self.described, rendered.trim_end()))
    }
}

/// The toolkit with which candle's CUDA backend is built: the installed one, or the one that `cargo xtask build` fetched.
fn toolkit() -> anyhow::Result<Toolkit> {
    if let Some(installed) = Toolkit::installed() {
        return Ok(installed);
    }
    let home = Some(environment::made_in("cuda/home")?).filter(|home| home.join("bin/nvcc").is_file());
    let missing = "the CUDA toolkit is not set up; `cargo xtask build` fetches it, and `--device cpu` needs none";
    Ok(home.map(Toolkit::Assembled).ok_or_else(|| Unusable(missing.to_string()))?)
}

/// A text on which all depends that is compiled with the toolkit; empty without one.
fn stamp() -> String {
    let Ok(Toolkit::Installed(home) | Toolkit::Assembled(home)) = toolkit() else { return String::new() };
    format!("{}\n{}", home.display(), fs::read_to_string(home.join("stamp")).unwrap_or_default())
}
