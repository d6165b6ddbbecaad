//! `--kernels`: edited CUDA kernels, which simulated devices run in place of candle's own.

use std::path::PathBuf;

use super::UsageError;
use crate::device::Device;
use crate::exec::WorkerSpec;
use crate::kernels::Edits;

/// The folder of kernels, if one is named.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct KernelsArg {
    /// Run the edited CUDA kernels of this checkout of candle, or of its `candle-kernels/src`, on simulated devices. Those that
    /// differ from the release are compiled; nothing else is built.
    #[arg(
        long = "kernels",
        help_heading = "Candle under test",
        id = "kernels",
        value_name = "DIR",
        conflicts_with = "candle"
    )]
    pub folder: Option<PathBuf>,
}

impl KernelsArg {
    /// Compiles what is edited, for `devices`, and says on the error stream what that is. `None` without the option.
    pub fn compile(&self, devices: &[Device]) -> anyhow::Result<Option<Edits>> {
        let Some(folder) = &self.folder else { return Ok(None) };
        let Some(&device) = devices.iter().find(|device| matches!(device, Device::Sim(_))) else {
            return Err(UsageError("--kernels needs a simulated device; add `--device sim:0`".to_string()).into());
        };
        let edits = Edits::compile(folder, device)?;
        edits.ignored.iter().for_each(|line| eprintln!("{line}"));
        match &edits.kernels {
            Some(kernels) => eprintln!("edited    {} of {}", kernels.files.join(", "), folder.display()),
            None => eprintln!("no kernel of {} differs from candle {}", folder.display(), crate::CANDLE),
        }
        Ok(Some(edits))
    }

    /// `spec` with what is edited.
    pub fn apply(&self, devices: &[Device], spec: WorkerSpec) -> anyhow::Result<WorkerSpec> {
        Ok(WorkerSpec { kernels: self.compile(devices)?.and_then(|edits| edits.kernels), ..spec })
    }
}
