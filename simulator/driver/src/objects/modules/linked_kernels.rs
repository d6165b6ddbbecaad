//! Kernels that are linked into the program: registered by constructors, before `main`, and loaded at their first use.

use crate::objects::codes::Code;
use std::collections::BTreeMap;
use std::ffi::CString;
use std::sync::{Mutex, MutexGuard};

/// `cudaErrorInvalidDeviceFunction`
const INVALID_DEVICE_FUNCTION: Code = 98;

/// A registered kernel.
#[derive(Clone)]
pub struct Linked {
    /// The number of its fat binary in [`Registry::binaries`], from 1.
    pub binary: usize,
    pub image: usize,
    pub name: CString,
}

struct Registry {
    /// The address of each fat binary's wrapper. An unloaded one keeps its number, as another may get its address.
    binaries: Vec<usize>,
    /// By the address of their host functions.
    kernels: BTreeMap<usize, Linked>,
}

static REGISTRY: Mutex<Registry> = Mutex::new(Registry { binaries: Vec::new(), kernels: BTreeMap::new() });

fn registry() -> MutexGuard<'static, Registry> {
    REGISTRY.lock().expect("never held in a panic")
}

/// The kernel of a host function.
pub fn linked(function: usize) -> Result<Linked, Code> {
    registry().kernels.get(&function).cloned().ok_or(INVALID_DEVICE_FUNCTION)
}

/// Registers a fat binary by the address of its wrapper; gives its number.
pub fn add_binary(address: usize) -> usize {
    let binaries = &mut registry().binaries;
    binaries.push(address);
    binaries.len()
}

/// Forgets the kernels of a fat binary.
pub fn remove_binary(binary: usize) {
    registry().kernels.retain(|_, kernel| kernel.binary != binary);
}

/// Registers a kernel. Without its fat binary it stays unknown, and calls that name it fail.
pub fn add_kernel(binary: usize, function: usize, name: CString) {
    let mut registry = registry();
    if let Some(image) = binary.checked_sub(1).and_then(|at| registry.binaries.get(at).copied()) {
        registry.kernels.insert(function, Linked { binary, image, name });
    }
}
