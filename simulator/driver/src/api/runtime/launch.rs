//! Launches of kernels that are linked into the program.

use super::{ensure, own_default, runtime};
use crate::api::put;
use crate::objects::codes::{Code, INVALID_VALUE};
use crate::objects::driver::Driver;
use crate::objects::kernels::kernel_node::{Size, fits};
use crate::objects::modules::linked_kernels::linked;
use std::cell::RefCell;
use std::ffi::{c_uint, c_void};

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
    /// What `<<<...>>>` pushed: grid, block, shared memory and stream.
    static CONFIGURATIONS: RefCell<Vec<(Dim3, Dim3, usize, usize)>> = const { RefCell::new(Vec::new()) };
}

/// Pushes the configuration of a launch.
#[unsafe(no_mangle)]
pub extern "C" fn __cudaPushCallConfiguration(grid: Dim3, block: Dim3, shared: usize, stream: usize) -> c_uint {
    CONFIGURATIONS.with_borrow_mut(|configurations| configurations.push((grid, block, shared, stream)));
    0
}

/// Pops the configuration that was pushed last.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaPopCallConfiguration(
    grid: *mut Dim3,
    block: *mut Dim3,
    shared: *mut usize,
    stream: *mut usize,
) -> Code {
    runtime("__cudaPopCallConfiguration", |_| {
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
    runtime("__cudaGetKernel", |_| {
        linked(function)?;
        // SAFETY: the caller's promise.
        unsafe { put(handle, function) }
    })
}

/// Launches a kernel. It has ended when the call returns, unless a function of the host comes before it in its stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaLaunchKernel_ptsz(
    handle: usize,
    grid: Dim3,
    block: Dim3,
    values: *const *const c_void,
    shared: usize,
    stream: usize,
) -> Code {
    // SAFETY: the caller's promise.
    runtime("__cudaLaunchKernel_ptsz", |driver| unsafe {
        launch(driver, handle, [grid, block], shared, false, stream, values)
    })
}

/// Launches a kernel by its host function or its handle.
///
/// # Safety
/// `values` holds the addresses of the kernel's parameters.
unsafe fn launch(
    driver: &mut Driver,
    function: usize,
    [grid, block]: [Dim3; 2],
    shared: usize,
    is_cooperative: bool,
    stream: usize,
    values: *const *const c_void,
) -> Result<(), Code> {
    let (kernel, stream) = (linked(function)?, own_default(stream));
    ensure(driver)?;
    driver.context_of(stream)?;
    let (grid, block) = (grid.sizes, block.sizes);
    if !fits(grid, block) {
        return Err(INVALID_CONFIGURATION);
    }
    let shared = u32::try_from(shared).map_err(|_| INVALID_VALUE)?;
    let function = driver.loaded(&kernel).or_else(|code| {
        // The error sticks: a caller that ignores launch errors would take the unchanged memory for a result.
        let context = driver.current()?;
        driver.poison(context, code).and(Err(code))
    })?;
    // SAFETY: the caller's promise.
    unsafe { driver.launch(function, Size { grid, block, shared, is_cooperative }, stream, values) }
}

/// Launches a kernel whose blocks may wait for each other.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaLaunchCooperativeKernel_ptsz(
    function: usize,
    grid: Dim3,
    block: Dim3,
    values: *const *const c_void,
    shared: usize,
    stream: usize,
) -> Code {
    // SAFETY: the caller's promise.
    runtime("cudaLaunchCooperativeKernel_ptsz", |driver| unsafe {
        launch(driver, function, [grid, block], shared, true, stream, values)
    })
}

/// Launches a kernel by its host function, as CUDA 12 programs do.
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
