//! Which GPUs the driver shows. A process of its own asks it, because this one must never load a driver.

use std::io::{self, Seek};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, bail};
use wait_timeout::ChildExt;

use super::unusable_device::{UnusableDevice, hidden, lacks};
use super::{Build, environment};
use crate::device::Device;

/// The argument with which a worker only counts the GPUs.
pub const COUNT: &str = "count-gpus";

/// How long the driver may take. It opens no device for this.
const PATIENCE: Duration = Duration::from_secs(60);

/// All GPUs that the driver shows, at least one.
pub fn gpus() -> anyhow::Result<Vec<Device>> {
    let first = Device::Cuda(0);
    let mut command = environment::command(first, Build::Checked)?;
    let mut output = tempfile::tempfile().context("cannot make a file")?;
    command.arg(COUNT).stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output.try_clone()?);
    let mut child = command.spawn().with_context(|| format!("cannot start {}", command.get_program().display()))?;
    if child.wait_timeout(PATIENCE)?.is_none() {
        let _ = child.kill();
        bail!("the CUDA driver does not list its GPUs within {} s", PATIENCE.as_secs());
    }
    output.rewind()?;
    let printed = io::read_to_string(output)?;
    let count = printed.trim().parse::<u8>().ok().filter(|count| *count > 0);
    let Some(count) = count else {
        let why = lacks(first, &printed).unwrap_or_else(|| printed.lines().last().unwrap_or_default().to_string());
        return Err(UnusableDevice::new(first, why).into());
    };
    if let Some(odd) = hidden(usize::from(count)) {
        return Err(UnusableDevice::new(first, odd).into());
    }
    Ok((0..count).map(Device::Cuda).collect())
}
