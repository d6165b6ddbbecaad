//! A crate that Cargo links with the candle that this build has compiled already, which takes a second instead of minutes.

use std::fs;
use std::path::Path;

use toml::Table;

use super::compiler::profile;
use crate::device::Device;

/// The project from whose sources this program was built.
const PROJECT: &str = env!("CARGO_MANIFEST_DIR");

/// The manifest and the lock file of such a crate.
#[derive(Debug)]
pub struct Shared {
    /// The manifest.
    pub manifest: String,
    /// The lock file.
    pub lock: Vec<u8>,
}

impl Shared {
    /// `manifest`, of a crate for `device`, with what makes Cargo take candle and all below it from this build: the same profile, and
    /// the dependencies that turn on the same features. The crate itself is compiled without optimizations, because it runs once.
    /// `None` if the project's sources are gone.
    pub fn of(manifest: &str, device: Device) -> anyhow::Result<Option<Self>> {
        let project = Path::new(PROJECT);
        let (Ok(ours), Ok(lock)) =
            (fs::read_to_string(project.join("Cargo.toml")), fs::read(project.join("Cargo.lock")))
        else {
            return Ok(None);
        };
        let (mut manifest, ours): (Table, Table) = (manifest.parse()?, ours.parse()?);
        let name = manifest["package"]["name"].as_str().unwrap_or_default().to_string();
        if let (Some(theirs), Some(ours)) = (manifest["dependencies"].as_table_mut(), ours["dependencies"].as_table()) {
            for (name, dependency) in ours {
                // A crate of our own is not below candle. Only workers with CUDA have `libloading`.
                if dependency.get("path").is_none() && (device != Device::Cpu || name != "libloading") {
                    let mut dependency = dependency.clone();
                    dependency.as_table_mut().and_then(|fields| fields.remove("optional"));
                    theirs.entry(name).or_insert(dependency);
                }
            }
        }
        manifest.insert("profile".into(), profile(&ours, &[(&name, 0)])?.into());
        Ok(Some(Self { manifest: manifest.to_string(), lock }))
    }
}
