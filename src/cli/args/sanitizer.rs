//! `--sanitizer`: the tool of `compute-sanitizer` under which the workers of GPUs run.

use super::UsageError;
use crate::device::Device;
use crate::exec::Sanitizer;

/// The tool, if one is named.
#[derive(Debug, Clone, Copy, clap::Args)]
pub struct SanitizerArg {
    /// Run the workers of GPUs under this tool of NVIDIA's compute-sanitizer: `memcheck`, `initcheck`, `racecheck` or
    /// `synccheck`. Kernels are much slower, and a case gets 20 times its time limit.
    #[arg(long = "sanitizer", help_heading = "Devices and workers", id = "sanitizer", value_name = "TOOL")]
    pub tool: Option<Sanitizer>,
}

/// `tool`, if the program is there and a device of `devices` can run under it.
pub fn usable(tool: Option<Sanitizer>, devices: &[Device]) -> Result<Option<Sanitizer>, UsageError> {
    let Some(name) = tool else { return Ok(None) };
    if !devices.iter().any(|&device| Sanitizer::of(device, tool).is_some()) {
        return Err(UsageError(format!(
            "--sanitizer {name} needs a GPU: add `--device cuda:0`; a simulated device needs no --sanitizer, as it checks every access"
        )));
    }
    Sanitizer::check().map_err(|problem| UsageError(problem.to_string()))?;
    Ok(tool)
}
