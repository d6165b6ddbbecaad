//! Streams and events.

use crate::api::put;
use crate::objects::codes::{Code, INVALID_HANDLE, INVALID_VALUE};
use crate::objects::process::call;
use crate::objects::streams::happens_before::Clock;
use crate::objects::streams::stream::{Event, Stream};
use std::ffi::{c_int, c_uint};

const DISABLE_TIMING: c_uint = 2;

/// Makes a stream. With flag 1 it does not wait for the default stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamCreate(stream: *mut usize, flags: c_uint) -> Code {
    call("cuStreamCreate", |driver| {
        if flags > 1 {
            return Err(INVALID_VALUE);
        }
        driver.current_context()?;
        let context = driver.current()?;
        // SAFETY: the caller's promise.
        unsafe { put(stream, driver.streams.insert(Stream { context, blocking: flags == 0 })) }
    })
}

/// Makes a stream. The priority is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamCreateWithPriority(stream: *mut usize, flags: c_uint, _priority: c_int) -> Code {
    // SAFETY: the caller's promise.
    unsafe { cuStreamCreate(stream, flags) }
}

/// Destroys a stream.
#[unsafe(no_mangle)]
pub extern "C" fn cuStreamDestroy_v2(stream: usize) -> Code {
    call("cuStreamDestroy_v2", |driver| driver.destroy_stream(stream))
}

/// Waits for a stream.
#[unsafe(no_mangle)]
pub extern "C" fn cuStreamSynchronize(stream: usize) -> Code {
    call("cuStreamSynchronize", |driver| driver.wait(stream))
}

/// Whether a stream has done all its work. Only functions of the host take time.
#[unsafe(no_mangle)]
pub extern "C" fn cuStreamQuery(stream: usize) -> Code {
    call("cuStreamQuery", |driver| driver.query(stream))
}

/// Makes a stream wait for an event.
#[unsafe(no_mangle)]
pub extern "C" fn cuStreamWaitEvent(stream: usize, event: usize, flags: c_uint) -> Code {
    call("cuStreamWaitEvent", |driver| {
        if flags > 1 {
            return Err(INVALID_VALUE);
        }
        driver.wait_in_stream(stream, event)
    })
}

/// How a stream was made.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamGetFlags(stream: usize, flags: *mut c_uint) -> Code {
    call("cuStreamGetFlags", |driver| {
        driver.context_of(stream)?;
        let is_blocking = driver.streams.get(stream).is_none_or(|stream| stream.blocking);
        // SAFETY: the caller's promise.
        unsafe { put(flags, u32::from(!is_blocking)) }
    })
}

/// The priority of a stream: all have the same.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamGetPriority(stream: usize, priority: *mut c_int) -> Code {
    call("cuStreamGetPriority", |driver| {
        driver.context_of(stream)?;
        // SAFETY: the caller's promise.
        unsafe { put(priority, 0) }
    })
}

/// Makes an event.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuEventCreate(event: *mut usize, flags: c_uint) -> Code {
    call("cuEventCreate", |driver| {
        if flags > 7 {
            return Err(INVALID_VALUE);
        }
        driver.current_context()?;
        let context = driver.current()?;
        let timing = flags & DISABLE_TIMING == 0;
        let new = Event { context, timing, recorded: None, after: Clock::new(), is_recorded: false, captured: None };
        // SAFETY: the caller's promise.
        unsafe { put(event, driver.events.insert(new)) }
    })
}

/// Destroys an event.
#[unsafe(no_mangle)]
pub extern "C" fn cuEventDestroy_v2(event: usize) -> Code {
    call("cuEventDestroy_v2", |driver| {
        let event = driver.events.remove(event).ok_or(INVALID_HANDLE)?;
        driver.context(event.context)?.check()
    })
}

/// Records an event, in a stream of its own context.
#[unsafe(no_mangle)]
pub extern "C" fn cuEventRecord(event: usize, stream: usize) -> Code {
    call("cuEventRecord", |driver| driver.record_event(event, stream))
}

/// Records an event. The one flag is for captures: the event becomes a node of its own, which nothing here waits for.
#[unsafe(no_mangle)]
pub extern "C" fn cuEventRecordWithFlags(event: usize, stream: usize, flags: c_uint) -> Code {
    if flags > 1 { INVALID_VALUE } else { cuEventRecord(event, stream) }
}

/// Waits for an event.
#[unsafe(no_mangle)]
pub extern "C" fn cuEventSynchronize(event: usize) -> Code {
    call("cuEventSynchronize", |driver| driver.wait_for_event(event))
}

/// Whether an event has happened. Only functions of the host take time.
#[unsafe(no_mangle)]
pub extern "C" fn cuEventQuery(event: usize) -> Code {
    call("cuEventQuery", |driver| driver.query_event(event))
}

/// The milliseconds between two events, which must have timing enabled and be recorded.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuEventElapsedTime_v2(milliseconds: *mut f32, start: usize, end: usize) -> Code {
    call("cuEventElapsedTime_v2", |driver| {
        driver.wait_for_event(start)?;
        let from = driver.event(start)?.recorded.ok_or(INVALID_HANDLE)?;
        let to = driver.event(end)?.recorded.ok_or(INVALID_HANDLE)?;
        if driver.event(start)?.context != driver.event(end)?.context {
            return Err(INVALID_HANDLE);
        }
        // SAFETY: the caller's promise.
        unsafe { put(milliseconds, to.saturating_duration_since(from).as_secs_f32() * 1e3) }
    })
}
