//! The runtime library, as far as kernels that are linked statically into the program need it.
//!
//! Such kernels are not executed yet: a launch is reported as unsupported, and its error sticks to the context, so that
//! no caller who ignores launch errors takes the unchanged memory for a result.

use crate::codes::{Code, INVALID_VALUE, NOT_SUPPORTED};
use crate::context::SHARED;
use crate::launch::fits;
use crate::report;
use crate::state::{Driver, call, put};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::Mutex;

const INVALID_CONFIGURATION: Code = 9;
const MISSING_CONFIGURATION: Code = 52;
const INVALID_DEVICE_FUNCTION: Code = 98;

/// A `dim3`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Dim3 {
    /// The three sizes.
    pub sizes: [c_uint; 3],
}

/// A registered kernel.
#[derive(Clone)]
struct Kernel {
    name: String,
    dynamic_shared: u32,
}

/// Kernels by the address of their host function. Static constructors fill it, before anything else is initialized.
static KERNELS: Mutex<BTreeMap<usize, Kernel>> = Mutex::new(BTreeMap::new());

thread_local! {
    static LAST_ERROR: Cell<Code> = const { Cell::new(0) };
    /// What `<<<...>>>` pushed: grid, block, shared memory and stream.
    static CONFIGURATIONS: RefCell<Vec<(Dim3, Dim3, usize, usize)>> = const { RefCell::new(Vec::new()) };
}

fn kernel(function: usize) -> Result<Kernel, Code> {
    KERNELS.lock().expect("never held in a panic").get(&function).cloned().ok_or(INVALID_DEVICE_FUNCTION)
}

/// Runs `f`, and keeps its error for `cudaGetLastError`.
pub(crate) fn runtime(f: impl FnOnce(&mut Driver) -> Result<(), Code>) -> Code {
    let code = call(f);
    if code != 0 {
        LAST_ERROR.set(code);
    }
    code
}

/// Registers a fat binary; its kernels are registered one by one.
#[unsafe(no_mangle)]
pub extern "C" fn __cudaRegisterFatBinary(fat_binary: *mut c_void) -> *mut *mut c_void {
    // Callers only hand it back: any address that is not null will do.
    fat_binary.cast()
}

/// All kernels of a fat binary are registered.
#[unsafe(no_mangle)]
pub extern "C" fn __cudaRegisterFatBinaryEnd(_handle: *mut *mut c_void) {}

/// The program ends, or unloads a library.
#[unsafe(no_mangle)]
pub extern "C" fn __cudaUnregisterFatBinary(_handle: *mut *mut c_void) {}

/// Registers a kernel.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaRegisterFunction(
    _handle: *mut *mut c_void,
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
    // SAFETY: compilers pass the kernel's mangled name.
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned();
    let kernel = Kernel { name, dynamic_shared: SHARED };
    KERNELS.lock().expect("never held in a panic").insert(function, kernel);
}

/// Registers a device variable, which no kernel reads as none is executed.
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

/// Keeps the configuration of a launch for the function that launches.
#[unsafe(no_mangle)]
pub extern "C" fn __cudaPushCallConfiguration(grid: Dim3, block: Dim3, shared: usize, stream: usize) -> c_uint {
    CONFIGURATIONS.with_borrow_mut(|configurations| configurations.push((grid, block, shared, stream)));
    0
}

/// Takes back the configuration that was kept last.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaPopCallConfiguration(
    grid: *mut Dim3,
    block: *mut Dim3,
    shared: *mut usize,
    stream: *mut usize,
) -> Code {
    runtime(|_| {
        let kept = CONFIGURATIONS.with_borrow_mut(Vec::pop).ok_or(MISSING_CONFIGURATION)?;
        // SAFETY: the caller's promise.
        unsafe {
            put(grid, kept.0)?;
            put(block, kept.1)?;
            put(shared, kept.2)?;
            put(stream, kept.3)
        }
    })
}

/// The kernel of a host function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaGetKernel(handle: *mut usize, function: usize) -> Code {
    runtime(|_| {
        kernel(function)?;
        // SAFETY: the caller's promise.
        unsafe { put(handle, function) }
    })
}

/// Launches a kernel, or rather says that it does not.
#[unsafe(no_mangle)]
pub extern "C" fn __cudaLaunchKernel_ptsz(
    handle: usize,
    grid: Dim3,
    block: Dim3,
    _values: *mut *mut c_void,
    shared: usize,
    stream: usize,
) -> Code {
    runtime(|driver| {
        let kernel = kernel(handle)?;
        driver.ensure()?;
        driver.on(stream)?;
        if !fits(grid.sizes, block.sizes) {
            return Err(INVALID_CONFIGURATION);
        }
        if shared > kernel.dynamic_shared as usize {
            return Err(INVALID_VALUE);
        }
        report::unsupported(&format!("statically linked kernel {}", kernel.name));
        let context = driver.stream_context(stream)?;
        driver.poison(context, NOT_SUPPORTED)?;
        Err(NOT_SUPPORTED)
    })
}

/// Launches a kernel by its host function, as programs of CUDA 12 do.
#[unsafe(no_mangle)]
pub extern "C" fn cudaLaunchKernel_ptsz(
    function: usize,
    grid: Dim3,
    block: Dim3,
    values: *mut *mut c_void,
    shared: usize,
    stream: usize,
) -> Code {
    __cudaLaunchKernel_ptsz(function, grid, block, values, shared, stream)
}

/// A `cudaFuncAttributes`.
#[repr(C)]
pub struct Attributes {
    shared: usize,
    constant: usize,
    local: usize,
    threads: c_int,
    registers: c_int,
    ptx_version: c_int,
    binary_version: c_int,
    cache_mode: c_int,
    dynamic_shared: c_int,
    /// The carve-out, the attributes of clusters, and what is reserved.
    rest: [c_int; 23],
}

/// The attributes of a kernel, of which little is known while it is not executed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaFuncGetAttributes(attributes: *mut Attributes, function: usize) -> Code {
    runtime(|driver| {
        let kernel = kernel(function)?;
        let (major, minor) = driver.config.capability;
        let version = (10 * major + minor) as c_int;
        let known = Attributes {
            shared: 0,
            constant: 0,
            local: 0,
            threads: 1024,
            registers: 32,
            ptx_version: version,
            binary_version: version,
            cache_mode: 0,
            dynamic_shared: kernel.dynamic_shared as c_int,
            rest: [0; 23],
        };
        // SAFETY: the caller's promise.
        unsafe { put(attributes, known) }
    })
}

/// Sets an attribute of a kernel: the dynamic shared memory it may be given; others are hints.
#[unsafe(no_mangle)]
pub extern "C" fn cudaFuncSetAttribute(function: usize, attribute: c_uint, value: c_int) -> Code {
    runtime(|driver| {
        let mut kernel = kernel(function)?;
        match (attribute, u32::try_from(value)) {
            (8, Ok(bytes)) if bytes <= driver.most_shared() => kernel.dynamic_shared = bytes,
            (9, _) => {}
            _ => return Err(INVALID_VALUE),
        }
        KERNELS.lock().expect("never held in a panic").insert(function, kernel);
        Ok(())
    })
}

/// How many blocks a multiprocessor holds at once, by threads and shared memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    blocks: *mut c_int,
    function: usize,
    threads: c_int,
    shared: usize,
    _flags: c_uint,
) -> Code {
    runtime(|driver| {
        kernel(function)?;
        if !(1..=1024).contains(&threads) {
            return Err(INVALID_VALUE);
        }
        let by_shared = driver.most_shared() as usize / shared.max(1);
        // SAFETY: the caller's promise.
        unsafe { put(blocks, (2048 / threads).min(32).min(by_shared.min(32) as c_int)) }
    })
}

/// The thread's last error, which is forgotten.
#[unsafe(no_mangle)]
pub extern "C" fn cudaGetLastError() -> Code {
    LAST_ERROR.take()
}

/// The thread's last error.
#[unsafe(no_mangle)]
pub extern "C" fn cudaPeekAtLastError() -> Code {
    LAST_ERROR.get()
}
