//! The runtime API, as far as kernels that are linked into the program need it.

pub mod device;
pub mod error_names;
pub mod kernel;
pub mod launch;
pub mod memory;
pub mod registration;

use crate::objects::codes::Code;
use crate::objects::contexts::context;
use crate::objects::driver::Driver;
use crate::objects::process::call;
use crate::objects::streams::per_thread;
use std::cell::Cell;
use std::ffi::c_int;

thread_local! {
    static LAST_ERROR: Cell<Code> = const { Cell::new(0) };
}

/// Runs `f`, the body of the CUDA function of this name, and keeps its error for `cudaGetLastError`.
pub(super) fn runtime(name: &'static str, f: impl FnMut(&mut Driver) -> Result<(), Code>) -> Code {
    let code = call(name, f);
    if code != 0 {
        LAST_ERROR.set(code);
    }
    code
}

/// Makes the primary context of a device current, as the runtime does implicitly.
pub(super) fn select(driver: &mut Driver, device: c_int) -> Result<(), Code> {
    driver.initialize()?;
    let ordinal = driver.device(device)?;
    // The runtime counts as one user. If it is the first, it never releases the context.
    let handle = driver.retain(ordinal)?;
    if driver.retained(ordinal) > 1 {
        driver.release(ordinal)?;
    }
    context::make_current(handle);
    Ok(())
}

/// The default stream that all threads share (`cudaStreamLegacy`).
const LEGACY: usize = 1;

/// The stream that a function of this name in `_ptsz` means: programs that call it are compiled for default streams of threads.
fn own_default(stream: usize) -> usize {
    if stream == 0 { per_thread::HANDLE } else { stream }
}

/// Ensures that a context is current.
pub(super) fn ensure(driver: &mut Driver) -> Result<(), Code> {
    match driver.current() {
        Ok(ordinal) if driver.retained(ordinal) > 0 => Ok(()),
        current => select(driver, current.unwrap_or(0) as c_int),
    }
}

/// The thread's last error, which is cleared.
#[unsafe(no_mangle)]
pub extern "C" fn cudaGetLastError() -> Code {
    LAST_ERROR.take()
}

/// The thread's last error.
#[unsafe(no_mangle)]
pub extern "C" fn cudaPeekAtLastError() -> Code {
    LAST_ERROR.get()
}
