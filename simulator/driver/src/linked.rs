//! Kernels that are linked into the program: registered by constructors, before `main`, and loaded when they are used.

use crate::codes::Code;
use crate::image;
use crate::state::Driver;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;
use std::sync::Mutex;

/// `cudaErrorInvalidDeviceFunction`
const INVALID_DEVICE_FUNCTION: Code = 98;

/// A registered kernel.
#[derive(Clone)]
pub struct Linked {
    /// The place of its fat binary in [`Registry::binaries`], from 1 on.
    binary: usize,
    image: usize,
    name: CString,
}

struct Registry {
    /// The address of each fat binary's wrapper. One that is unloaded keeps its place: another may come to its address.
    binaries: Vec<usize>,
    /// By the address of their host functions.
    kernels: BTreeMap<usize, Linked>,
}

static REGISTRY: Mutex<Registry> = Mutex::new(Registry { binaries: Vec::new(), kernels: BTreeMap::new() });

/// The kernel of a host function.
pub fn linked(function: usize) -> Result<Linked, Code> {
    let registry = REGISTRY.lock().expect("never held in a panic");
    registry.kernels.get(&function).cloned().ok_or(INVALID_DEVICE_FUNCTION)
}

impl Driver {
    /// A linked kernel as a function of the current context, into which the first use loads its fat binary.
    pub(crate) fn loaded(&mut self, kernel: &Linked) -> Result<usize, Code> {
        let module = match self.here()?.linked.get(&kernel.binary) {
            Some(&module) => module,
            None => {
                let image = ptr::with_exposed_provenance(kernel.image);
                // SAFETY: a compiler made the fat binary, and the program has not taken its kernels back.
                let module = self.load(&unsafe { image::ptx(image, self.config.capability)? })?;
                self.here()?.linked.insert(kernel.binary, module);
                module
            }
        };
        self.function(module, &kernel.name)
    }
}

/// Registers a fat binary; its kernels are registered one by one.
#[unsafe(no_mangle)]
pub extern "C" fn __cudaRegisterFatBinary(fat_binary: *mut c_void) -> *mut *mut c_void {
    let binaries = &mut REGISTRY.lock().expect("never held in a panic").binaries;
    binaries.push(fat_binary.expose_provenance());
    // Callers only hand it back.
    ptr::without_provenance_mut(binaries.len())
}

/// All kernels of a fat binary are registered.
#[unsafe(no_mangle)]
pub extern "C" fn __cudaRegisterFatBinaryEnd(_handle: *mut *mut c_void) {}

/// The program ends, or unloads a library.
#[unsafe(no_mangle)]
pub extern "C" fn __cudaUnregisterFatBinary(handle: *mut *mut c_void) {
    let kernels = &mut REGISTRY.lock().expect("never held in a panic").kernels;
    kernels.retain(|_, kernel| kernel.binary != handle.addr());
}

/// Registers a kernel.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaRegisterFunction(
    handle: *mut *mut c_void,
    function: usize,
    _device_function: *mut c_char,
    name: *const c_char,
    _thread_limit: c_int,
    _thread: *mut c_void,
    _block: *mut c_void,
    _block_size: *mut c_void,
    _grid_size: *mut c_void,
    _warp_size: *mut c_int,
) {
    let mut registry = REGISTRY.lock().expect("never held in a panic");
    let binary = handle.addr();
    let image = binary.checked_sub(1).and_then(|at| registry.binaries.get(at).copied());
    // Without a fat binary the kernel stays unknown, and so every call says that names it.
    if let Some(image) = image {
        // SAFETY: compilers pass the kernel's mangled name.
        let name = unsafe { CStr::from_ptr(name) }.to_owned();
        registry.kernels.insert(function, Linked { binary, image, name });
    }
}

/// Registers a device variable. Kernels find theirs in the PTX; nothing that is simulated asks for it by this address.
#[unsafe(no_mangle)]
pub extern "C" fn __cudaRegisterVar(
    _handle: *mut *mut c_void,
    _variable: *mut c_char,
    _address: *mut c_char,
    _name: *const c_char,
    _external: c_int,
    _bytes: usize,
    _constant: c_int,
    _global: c_int,
) {
}
