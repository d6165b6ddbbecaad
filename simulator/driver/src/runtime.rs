//! The runtime library, as far as kernels that are linked into the program need it.

use crate::codes::{Code, INVALID_VALUE};
use crate::launch::fits;
use crate::linked::linked;
use crate::state::{Driver, call, put};
use std::cell::{Cell, RefCell};
use std::ffi::{c_int, c_uint, c_void};

const INVALID_CONFIGURATION: Code = 9;
const MISSING_CONFIGURATION: Code = 52;

/// A `dim3`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Dim3 {
    /// The three sizes.
    pub sizes: [c_uint; 3],
}

thread_local! {
    static LAST_ERROR: Cell<Code> = const { Cell::new(0) };
    /// What `<<<...>>>` pushed: grid, block, shared memory and stream.
    static CONFIGURATIONS: RefCell<Vec<(Dim3, Dim3, usize, usize)>> = const { RefCell::new(Vec::new()) };
}

/// Runs `f`, and keeps its error for `cudaGetLastError`.
pub(crate) fn runtime(f: impl FnOnce(&mut Driver) -> Result<(), Code>) -> Code {
    let code = call(f);
    if code != 0 {
        LAST_ERROR.set(code);
    }
    code
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
        linked(function)?;
        // SAFETY: the caller's promise.
        unsafe { put(handle, function) }
    })
}

/// Launches a kernel, which has ended when the call returns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaLaunchKernel_ptsz(
    handle: usize,
    grid: Dim3,
    block: Dim3,
    values: *const *const c_void,
    shared: usize,
    stream: usize,
) -> Code {
    runtime(|driver| {
        let kernel = linked(handle)?;
        driver.ensure()?;
        driver.on(stream)?;
        let (grid, block) = (grid.sizes, block.sizes);
        if !fits(grid, block) {
            return Err(INVALID_CONFIGURATION);
        }
        let shared = u32::try_from(shared).map_err(|_| INVALID_VALUE)?;
        let function = driver.loaded(&kernel).or_else(|code| {
            // It sticks: a caller who ignores launch errors would take the unchanged memory for a result.
            let context = driver.current()?;
            driver.poison(context, code).and(Err(code))
        })?;
        // SAFETY: the caller's promise.
        unsafe { driver.launch(function, grid, block, shared, stream, values) }
    })
}

/// Launches a kernel by its host function, as programs of CUDA 12 do.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaLaunchKernel_ptsz(
    function: usize,
    grid: Dim3,
    block: Dim3,
    values: *const *const c_void,
    shared: usize,
    stream: usize,
) -> Code {
    // SAFETY: the caller's promise.
    unsafe { __cudaLaunchKernel_ptsz(function, grid, block, values, shared, stream) }
}

impl Driver {
    /// A host function's kernel in the current context, to ask for its attributes.
    fn attributed(&mut self, function: usize) -> Result<usize, Code> {
        let kernel = linked(function)?;
        self.ensure()?;
        self.loaded(&kernel)
    }
}

/// A `cudaFuncAttributes`.
#[repr(C)]
pub struct Attributes {
    /// Bytes of shared memory that the kernel declares.
    pub shared: usize,
    constant: usize,
    local: usize,
    /// Threads of a block at most.
    pub threads: c_int,
    registers: c_int,
    ptx_version: c_int,
    binary_version: c_int,
    cache_mode: c_int,
    /// Bytes of shared memory that a launch may ask for.
    pub dynamic_shared: c_int,
    /// The carve-out, the attributes of clusters, and what is reserved.
    rest: [c_int; 23],
}

/// The attributes of a kernel.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaFuncGetAttributes(attributes: *mut Attributes, function: usize) -> Code {
    runtime(|driver| {
        let function = driver.attributed(function)?;
        let mut get = |attribute| driver.function_attribute(function, attribute).map(|value| value as c_int);
        let known = Attributes {
            shared: get(1)? as usize,
            constant: get(2)? as usize,
            local: get(3)? as usize,
            threads: get(0)?,
            registers: get(4)?,
            ptx_version: get(5)?,
            binary_version: get(6)?,
            cache_mode: get(7)?,
            dynamic_shared: get(8)?,
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
        let function = driver.attributed(function)?;
        driver.set_function_attribute(function, attribute, value)
    })
}

/// How many blocks a multiprocessor holds at once, by warps and shared memory: registers are not known.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    blocks: *mut c_int,
    function: usize,
    threads: c_int,
    shared: usize,
    _flags: c_uint,
) -> Code {
    runtime(|driver| {
        let function = driver.attributed(function)?;
        let threads = u32::try_from(threads).ok().filter(|&threads| threads > 0).ok_or(INVALID_VALUE)?;
        // Threads and blocks of a multiprocessor, its shared memory, and what the system keeps of it for each block.
        let [most_threads, most_blocks, memory, kept] = [39, 106, 81, 111].map(|number| driver.attribute(number));
        let bytes = driver.function_attribute(function, 1)? as usize + shared + kept? as usize;
        let by_memory = memory? as usize / bytes;
        let by_threads = most_threads? / threads.next_multiple_of(32) as c_int;
        let fits = threads <= driver.function_attribute(function, 0)?;
        let most = if fits { by_threads.min(most_blocks?).min(by_memory as c_int) } else { 0 };
        // SAFETY: the caller's promise.
        unsafe { put(blocks, most) }
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
