//! Why a device cannot be used: what the driver says, as a line that says what to do.

use super::protocol::Hello;
use super::{Limits, sanitizer};
use crate::device::{Device, Gpu};

/// A device that this machine lacks, or that cannot be used as it is.
#[derive(Debug, thiserror::Error)]
#[error("{device} cannot be opened: {why}")]
pub struct UnusableDevice {
    device: Device,
    why: String,
}

impl UnusableDevice {
    /// `device` cannot be used, and this is why.
    pub fn new(device: Device, why: String) -> Self {
        Self { device, why }
    }

    /// Whether the device of a new worker can be used as it is.
    pub fn check(hello: &Hello, limits: Limits) -> Result<(), Self> {
        let Some(gpu) = hello.gpu else { return Ok(()) };
        let hidden = hidden(gpu.visible).map(|why| Self::new(hello.device, why));
        hidden.or_else(|| Self::memory(hello.device, gpu, 1, limits.gpu_memory_mib)).map_or(Ok(()), Err)
    }

    /// A GPU whose memory is too little for `workers`, each of which may use `budget` MiB. `None` if it is enough.
    pub fn memory(device: Device, gpu: Gpu, workers: usize, budget: u64) -> Option<Self> {
        let Gpu { free_mib, total_mib, .. } = gpu;
        let needed = budget.saturating_mul(workers as u64);
        let users = match workers {
            1 => format!("a worker may use {budget} MiB"),
            _ => format!("{workers} workers may use {budget} MiB each"),
        };
        let why = || {
            format!(
                "{free_mib} of its {total_mib} MiB are free, and {users}; `nvidia-smi` shows what uses the rest; wait, \
                 choose another GPU, or lower --jobs or --gpu-memory"
            )
        };
        (free_mib < needed).then(|| Self::new(device, why()))
    }
}

/// What a worker prints if something is missing, and what that is.
const MISSING: [(&str, &str); 14] = [
    ("libcuda.so", NO_DRIVER),
    ("\"cuda\" shared library", NO_DRIVER),
    ("CUDA_ERROR_NO_DEVICE", "the CUDA driver finds no GPU; use `--device sim:0`"),
    ("CUDA_ERROR_INVALID_DEVICE", "there is no device with this number; the first is `cuda:0` or `sim:0`"),
    ("CUDA_ERROR_UNSUPPORTED_PTX_VERSION", OLD_DRIVER),
    ("CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", OLD_DRIVER),
    (
        "CUDA_ERROR_STUB_LIBRARY",
        "this libcuda.so.1 is a stub from the CUDA toolkit; put the driver's folder first in LD_LIBRARY_PATH",
    ),
    // A function that a newer driver has.
    ("undefined symbol: cu", OLD_DRIVER),
    (
        "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
        "libcuda.so.1 and the kernel's NVIDIA module have different versions; restart the machine after a driver \
         update",
    ),
    (
        "CUDA_ERROR_NO_BINARY_FOR_GPU",
        "candle's kernels are built for newer GPUs; set CUDA_COMPUTE_CAP to this GPU's compute capability and build \
         again",
    ),
    ("CUDA_ERROR_DEVICE_UNAVAILABLE", "another program uses this GPU exclusively; wait, or choose another GPU"),
    (
        "CUDA_ERROR_OUT_OF_MEMORY",
        "it has no memory left; `nvidia-smi` shows what uses it; wait, choose another GPU, or lower --jobs",
    ),
    ("CUDA_ERROR_SYSTEM_NOT_READY", "the driver is not ready; on a machine with NVSwitch, start nvidia-fabricmanager"),
    ("CUDA_ERROR_ECC_UNCORRECTABLE", "its memory has an error that it cannot correct; `nvidia-smi -q` says more"),
];

const NO_DRIVER: &str =
    "this machine has no CUDA driver, libcuda.so.1; install the driver of your GPU, or use `--device sim:0`";

const OLD_DRIVER: &str = "its driver is older than the CUDA toolkit of the worker; install a newer driver, or build \
                          with the CUDA version that `nvidia-smi` shows";

/// What `device` lacks, if a worker that printed this says so.
pub fn lacks(device: Device, printed: &str) -> Option<String> {
    // A simulated device's own complaint is more exact.
    let complaint = printed.lines().find(|line| line.starts_with("snuffer-sim: SNUFFER_SIM_"));
    if let (Device::Sim(_), Some(complaint)) = (device, complaint) {
        return complaint.strip_prefix("snuffer-sim: ").map(ToString::to_string);
    }
    let mut reasons = MISSING.into_iter().chain(sanitizer::FAILURES);
    let (text, lacks) = reasons.find(|(text, _)| printed.contains(text))?;
    // With no GPU, or none of this number, the user may have hidden it.
    let hidden = match (device, text) {
        (Device::Cuda(_), "CUDA_ERROR_NO_DEVICE") => hidden(0),
        (Device::Cuda(ordinal), "CUDA_ERROR_INVALID_DEVICE") => hidden(usize::from(ordinal)),
        _ => None,
    };
    Some(hidden.unwrap_or_else(|| lacks.to_string()))
}

/// The variable by which a user chooses which GPUs the driver shows.
const VARIABLE: &str = "CUDA_VISIBLE_DEVICES";

/// What is wrong with `CUDA_VISIBLE_DEVICES`, if the driver shows `visible` GPUs.
pub fn hidden(visible: usize) -> Option<String> {
    odd(&std::env::var(VARIABLE).ok()?, visible)
}

/// What is wrong with the list `named`, if the driver shows `visible` GPUs because of it. An entry that names no GPU hides
/// itself and all after it; `-1` does so on purpose (CUDA C++ Programming Guide, "CUDA Environment Variables"). Of the slices
/// of a GPU (MIG), a process sees one, however many are named.
pub fn odd(named: &str, visible: usize) -> Option<String> {
    let entries: Vec<&str> = named.split(',').map(str::trim).take_while(|entry| *entry != "-1").collect();
    let is_sliced = entries.iter().any(|entry| entry.starts_with("MIG-"));
    let repeated = entries.iter().enumerate().find(|(at, entry)| entries[..*at].contains(entry));
    match (entries.get(visible), repeated) {
        _ if visible > 0 && is_sliced => None,
        (None, _) if visible > 0 => None,
        (None | Some(&""), _) if visible == 0 => Some(format!(
            "{VARIABLE} is `{named}`, which hides every GPU; unset it, or name a GPU, as in `{VARIABLE}=0`"
        )),
        (_, Some((_, twice))) => Some(format!("{VARIABLE} is `{named}`, which names `{twice}` twice; name it once")),
        (entry, None) => Some(format!(
            "{VARIABLE} is `{named}`, but this machine has no GPU `{}`, which hides all GPUs after it; `nvidia-smi -L` \
             lists them",
            entry.unwrap_or(&"")
        )),
    }
}
