//! Whether this machine has an NVIDIA GPU. Suite and set-up ask the same question, so both compile this file.

use std::path::Path;
use std::process::{Command, Stdio};

/// Whether there is a GPU that programs can use: a device node of its driver, or one that `nvidia-smi` lists (a container or
/// WSL may have no node).
pub fn is_there() -> bool {
    if (0..16).any(|number| Path::new(&format!("/dev/nvidia{number}")).exists()) {
        return true;
    }
    let listed = Command::new("nvidia-smi").arg("-L").stdin(Stdio::null()).stderr(Stdio::null()).output();
    listed.is_ok_and(|listed| listed.status.success() && listed.stdout.starts_with(b"GPU "))
}
