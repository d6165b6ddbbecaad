//! Functions of the host that are part of a stream. Each runs in a thread while the program goes on.

use crate::objects::codes::{Code, INVALID_VALUE};
use crate::objects::driver::Task;
use crate::objects::graphs::graph::Host;
use crate::objects::process::call;
use std::ffi::{c_uint, c_void};
use std::ptr;
use std::sync::Arc;

/// A function of the host that gets the stream, the result of what is before it, and its data.
type Callback = unsafe extern "C" fn(usize, Code, *mut c_void);

/// Runs a function of the host after the work of a stream. A capture must not have one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamAddCallback(
    stream: usize,
    callback: Option<Callback>,
    data: *mut c_void,
    flags: c_uint,
) -> Code {
    let Some(callback) = callback.filter(|_| flags == 0) else { return INVALID_VALUE };
    let data = data.expose_provenance();
    call("cuStreamAddCallback", |driver| {
        driver.check_unsafe()?;
        let key = driver.key(stream)?;
        driver.checked(key.0)?;
        // SAFETY: the caller's promise.
        let run = move |code| unsafe { callback(stream, code, ptr::with_exposed_provenance_mut(data)) };
        driver.run_host(key, Host { function: Arc::new(run), after_errors: true });
        Ok(())
    })
}

/// A function of the host. It must not call CUDA.
pub type HostFunction = unsafe extern "C" fn(*mut c_void);

/// Runs a function of the host after the work of a stream, or at each launch of the graph that the stream is captured for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLaunchHostFunc(stream: usize, function: Option<HostFunction>, data: *mut c_void) -> Code {
    call("cuLaunchHostFunc", |driver| {
        // SAFETY: the caller's promise.
        let host = unsafe { host(function, data)? };
        let key = driver.key(stream)?;
        driver.checked(key.0)?;
        match driver.valid_capture(key)? {
            Some(capture) => capture.add(key, Task::Host(host)),
            None => {
                driver.run_host(key, host);
                Ok(())
            }
        }
    })
}

/// A function with its data.
///
/// # Safety
/// The function may be called with the data, from any thread, as often as the result is.
pub(crate) unsafe fn host(function: Option<HostFunction>, data: *mut c_void) -> Result<Host, Code> {
    let function = function.ok_or(INVALID_VALUE)?;
    let data = data.expose_provenance();
    // SAFETY: the caller's promise.
    let run = move |_| unsafe { function(ptr::with_exposed_provenance_mut(data)) };
    Ok(Host { function: Arc::new(run), after_errors: false })
}
