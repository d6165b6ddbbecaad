//! Workers with another candle than the release under test: another release, a checkout of its repository, patches, or fixes of
//! root causes.
//!
//! This program stays as it is. Only the part of it that workers need is built again, with the other candle, in a workspace
//! below Cargo's target folder.

mod compiler;
mod crates;
pub mod fixed;
mod functions;
mod left_out;
mod manifest;
mod moved;
mod named;
mod obtain;
mod permalink;
mod registry;
mod shared;
mod sources;
mod workspace;

use std::fs::{self, File};
use std::hash::Hasher;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::Context;
use siphasher::sip::SipHasher13;

use crate::device::Device;
use crate::exec::worker::NAME_OPS;
use crate::exec::{Build, CandleUnderTest, EditedKernels, environment};
use crate::ops;
use crate::store::write_atomically;

pub use compiler::{CompileError, errors};
pub use crates::{Crate, Crates, files};
pub use functions::functions_of;
pub use left_out::LeftOut;
pub use manifest::{of_candle, of_fuzz, of_library, of_workspace};
pub use moved::{Became, Citation, became, citations, dtypes, public_functions};
pub use named::{Named, Origin};
pub use obtain::obtain;
pub use permalink::places;
pub use registry::released;
pub use shared::Shared;
pub use sources::{Changed, Sources};
pub use workspace::Workspace;

/// The crates whose code runs in a worker.
pub const CRATES: [&str; 3] = ["candle-core", "candle-nn", "candle-kernels"];

/// The kernels, which take minutes to compile.
pub const KERNELS: &str = "candle-kernels";

/// A candle that cannot be used, and why.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Unusable(pub String);

/// The crates of the candle that `what` names.
pub fn crates(what: &str) -> anyhow::Result<Crates> {
    obtain(&Named::parse(what)?, &environment::made_in("candles")?)
}

/// The folder of CUDA kernels of the candle that `what` names, if they differ from those of the release under test and the rest of their
/// crate does not.
pub fn edited_kernels(what: &str) -> anyhow::Result<Option<PathBuf>> {
    let crates = crates(what)?;
    let is_alone = crates.differs_in_kernels_alone()?;
    Ok(crates.root.filter(|_| is_alone).map(|root| root.join(KERNELS).join("src")))
}

/// Builds the workers of the candle that `what` names, for `devices`, unless they are there. Says on the error stream what it does.
/// Simulated devices load `kernels` if there are some; then none are built. `None` for the release under test.
pub fn prepare(
    what: &str,
    devices: &[Device],
    kernels: Option<Arc<EditedKernels>>,
) -> anyhow::Result<Option<Arc<CandleUnderTest>>> {
    let named = Named::parse(what)?;
    let all = environment::made_in("candles")?;
    let mut crates = obtain(&named, &all)?;
    if crates.is_release_under_test() {
        return Ok(None);
    }
    let mut candle = CandleUnderTest {
        named: named.text(),
        version: crates.version.clone(),
        digest: crates.digest(),
        functions: crates.functions()?,
        ..CandleUnderTest::default()
    };
    if kernels.is_some() {
        crates.own.remove(KERNELS);
    }
    if kernels.is_none() || !crates.own.is_empty() {
        build(&mut candle, devices, &Workspace::new(&all, &named, crates)?, &all.join("workers"))?;
    }
    candle.kernels = kernels;
    Ok(Some(Arc::new(candle)))
}

/// Builds the workers of `candle` for `devices` in a folder of `all`, unless they are there, and adds to it what they lack.
fn build(candle: &mut CandleUnderTest, devices: &[Device], workspace: &Workspace, all: &Path) -> anyhow::Result<()> {
    let workers = all.join(workspace.key());
    candle.workers = Some(workers.clone());
    candle.built.clone_from(&workspace.digest);
    candle.few_dtypes = workspace.few_dtypes();
    for (device, with_cuda) in [(Device::Cpu, false), (Device::Sim(0), true)] {
        if !devices.iter().any(|device| (*device != Device::Cpu) == with_cuda) {
            continue;
        }
        let worker = workers.join(environment::name(device));
        if !worker.is_file() {
            workspace.build(with_cuda, &worker)?;
        }
        candle.lacks = lacking(device, candle)?;
    }
    prune(&workers)
}

/// Writes a package with the fuzz targets of the candle that `what` names, and returns its folder. Its worker for `device` is built first,
/// to know which ops it lacks. `None` for the release under test.
pub fn fuzz_package(what: &str, device: Device) -> anyhow::Result<Option<PathBuf>> {
    let named = Named::parse(what)?;
    let all = environment::made_in("candles")?;
    let crates = obtain(&named, &all)?;
    if crates.is_release_under_test() {
        return Ok(None);
    }
    let workspace = Workspace::new(&all, &named, crates)?;
    let worker = all.join("workers").join(workspace.key()).join(environment::name(device));
    // Also if the worker is there: the files in the workspace may be those of an earlier state of a checkout.
    workspace.build(device != Device::Cpu, &worker)?;
    workspace.write_fuzz_package().map(Some)
}

/// The ops that the worker of `candle` for `device` does not have.
fn lacking(device: Device, candle: &CandleUnderTest) -> anyhow::Result<Vec<String>> {
    let mut worker = environment::command_of(device, Build::Checked, Some(candle))?;
    let output =
        worker.arg(NAME_OPS).stdin(Stdio::null()).output().context("cannot run the worker of another candle")?;
    let named = String::from_utf8(output.stdout).context("the worker of another candle names no ops")?;
    let own: Vec<&str> = named.lines().collect();
    let names = ops::ALL.iter().map(|op| op.name);
    Ok(names.filter(|name| !own.contains(name)).map(str::to_string).collect())
}

/// How many candles' workers are kept.
const KEPT: usize = 12;

/// How long workers are kept at least: another process may use them.
const UNUSED: Duration = Duration::from_secs(24 * 60 * 60);

/// Notes that the workers in `folder` are used, and removes those of other candles beside it that were not used for long.
fn prune(folder: &Path) -> anyhow::Result<()> {
    File::open(folder)
        .and_then(|folder| folder.set_modified(SystemTime::now()))
        .context("cannot mark workers as used")?;
    let beside = fs::read_dir(folder.parent().context("workers lie in a folder")?).context("cannot list workers")?;
    let age = |path: &Path| fs::metadata(path).ok()?.modified().ok()?.elapsed().ok();
    let mut unused: Vec<(Duration, PathBuf)> =
        beside.flatten().filter_map(|entry| Some((age(&entry.path())?, entry.path()))).collect();
    unused.sort();
    for (_, path) in unused.into_iter().skip(KEPT).filter(|(age, _)| *age > UNUSED) {
        // Somebody else may remove it at the same time.
        let _ = fs::remove_dir_all(path);
    }
    Ok(())
}

/// A digest of `parts`, as 16 hexadecimal digits that are the same on every machine.
pub fn digest<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut hasher = SipHasher13::new();
    for part in parts {
        // With its length, so that the border between two parts counts.
        hasher.write(&(part.len() as u64).to_le_bytes());
        hasher.write(part);
    }
    format!("{:016x}", hasher.finish())
}

/// Writes a file unless it says that already: Cargo builds what is newer than its outputs.
fn write_if_new(path: &PathBuf, content: &[u8]) -> anyhow::Result<()> {
    if std::fs::read(path).is_ok_and(|old| old == content) { Ok(()) } else { write_atomically(path, content) }
}
