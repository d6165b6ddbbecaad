//! Device memory: allocation, fills and copies, all of which happen at the call.

use crate::codes::{Code, INVALID_VALUE, OUT_OF_MEMORY};
use crate::state::{Driver, call, put};
use crate::{hide, inject, report};
use simulator::Fault;
use std::alloc::{self, Layout};
use std::ffi::{c_uint, c_void};
use std::{ptr, slice};

/// Prints what is wrong with the call that the host is in.
fn say(calling: &str, fault: Fault) {
    report::fault(&Fault { kernel: inject::function(calling).to_string(), ..fault });
}

/// A fault of the call that the host is in: it is refused there and then, and leaves the context sound.
fn refused(calling: &str, fault: Fault) -> Code {
    say(calling, fault);
    INVALID_VALUE
}

impl Driver {
    /// Memory on the device of a stream; its address, also of no bytes at all.
    pub(crate) fn allocate(&mut self, bytes: usize, stream: usize) -> Result<u64, Code> {
        self.on(stream)?.device.allocate(bytes as u64).ok_or(OUT_OF_MEMORY)
    }

    /// Frees memory, and does so in a dead context too, whose error it then returns.
    pub(crate) fn free(&mut self, address: u64, stream: usize) -> Result<(), Code> {
        let calling = self.calling;
        let freed = self.touch(address, true);
        self.owner(address, stream)?.free(address).map_err(|fault| refused(calling, fault))?;
        self.works((self.stream_context(stream)?, stream), freed.as_slice(), inject::function(calling));
        self.order.forget(address);
        self.on(stream).map(drop)
    }

    /// Fills memory.
    pub(crate) fn fill(&mut self, address: u64, value: u8, bytes: usize, stream: usize) -> Result<(), Code> {
        if self.on(stream)?.working().is_none() || bytes == 0 {
            return Ok(());
        }
        self.writable(address, bytes, stream)?.fill(value);
        self.touched(&[(address, true)], stream)?;
        Ok(())
    }

    fn upload(&mut self, to: u64, from: &[u8], stream: usize) -> Result<(), Code> {
        if self.on(stream)?.working().is_none() || from.is_empty() {
            return Ok(());
        }
        self.writable(to, from.len(), stream)?.copy_from_slice(from);
        if let Some(marks) = hide::of_copy(from.len()) {
            self.owner(to, stream)?.hide(to, marks);
        }
        self.touched(&[(to, true)], stream)?;
        Ok(())
    }

    /// A copy to the host waits for the device: the host's memory is taken to be pageable, as candle's is.
    ///
    /// # Safety
    /// `to` is valid for a write of `bytes` bytes.
    unsafe fn download(&mut self, to: *mut c_void, from: u64, bytes: usize, stream: usize) -> Result<(), Code> {
        self.wait(stream)?;
        if bytes == 0 {
            return Ok(());
        }
        let (address, calling) = (from, self.calling);
        let device = self.owner(from, stream)?;
        let from = device.read(from, bytes as u64).map_err(|fault| refused(calling, fault))?;
        // SAFETY: the caller's promise, and device memory is not the program's to overlap with.
        unsafe { ptr::copy_nonoverlapping(from.as_ptr(), to.cast(), bytes) };
        device.reports().into_iter().for_each(|found| say(calling, found));
        self.touched(&[(address, false)], stream)?;
        let context = self.stream_context(stream)?;
        self.order.synchronize(context, Some(stream));
        Ok(())
    }

    fn copy(&mut self, to: u64, from: u64, bytes: usize, stream: usize) -> Result<(), Code> {
        if self.on(stream)?.working().is_none() || bytes == 0 {
            return Ok(());
        }
        let calling = self.calling;
        let device = self.owner(from, stream)?;
        if device.owns(to) {
            device.copy(to, from, bytes as u64).map_err(|fault| refused(calling, fault))?;
            device.reports().into_iter().for_each(|found| say(calling, found));
        } else {
            let (data, undefined) = device.take(from, bytes as u64).map_err(|fault| refused(calling, fault))?;
            let there = self.owner(to, stream)?;
            there.put(to, &data, &undefined).map_err(|fault| refused(calling, fault))?;
        }
        self.touched(&[(from, false), (to, true)], stream)?;
        Ok(())
    }

    /// Notes that the call which the host is in reads or writes at these addresses.
    fn touched(&mut self, addresses: &[(u64, bool)], stream: usize) -> Result<(), Code> {
        let context = self.stream_context(stream)?;
        let touched: Vec<_> = addresses.iter().filter_map(|&(address, wrote)| self.touch(address, wrote)).collect();
        self.works((context, stream), &touched, inject::function(self.calling));
        Ok(())
    }

    fn writable(&mut self, address: u64, bytes: usize, stream: usize) -> Result<&mut [u8], Code> {
        let calling = self.calling;
        self.owner(address, stream)?.bytes_mut(address, bytes as u64).map_err(|fault| refused(calling, fault))
    }
}

/// The host's memory of a copy, empty where a null pointer may stand for it.
///
/// # Safety
/// `from` is valid for a read of `bytes` bytes.
unsafe fn host<'a>(from: *const c_void, bytes: usize) -> &'a [u8] {
    // SAFETY: the caller's promise.
    if bytes == 0 { &[] } else { unsafe { slice::from_raw_parts(from.cast(), bytes) } }
}

/// Allocates in stream order.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAllocAsync(address: *mut u64, bytes: usize, stream: usize) -> Code {
    call(|driver| {
        let allocated = driver.allocate(bytes, stream)?;
        // SAFETY: the caller's promise.
        unsafe { put(address, allocated) }
    })
}

/// Frees in stream order.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemFreeAsync(address: u64, stream: usize) -> Code {
    call(|driver| driver.free(address, stream))
}

/// Allocates; nothing is not allocated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAlloc_v2(address: *mut u64, bytes: usize) -> Code {
    if bytes == 0 {
        return INVALID_VALUE;
    }
    // SAFETY: the caller's promise.
    unsafe { cuMemAllocAsync(address, bytes, 0) }
}

/// Frees, and waits for the device.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemFree_v2(address: u64) -> Code {
    call(|driver| {
        driver.free(address, 0)?;
        driver.wait(0)
    })
}

/// Free and total memory of the current device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) -> Code {
    call(|driver| {
        let all = driver.config.memory;
        let used = driver.here()?.device.in_use();
        // SAFETY: the caller's promise.
        unsafe { put(free, all.saturating_sub(used) as usize).and_then(|()| put(total, all as usize)) }
    })
}

/// Fills with a byte, in stream order.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemsetD8Async(address: u64, value: u8, bytes: usize, stream: usize) -> Code {
    call(|driver| driver.fill(address, value, bytes, stream))
}

/// Fills with a byte.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemsetD8_v2(address: u64, value: u8, bytes: usize) -> Code {
    cuMemsetD8Async(address, value, bytes, 0)
}

/// Copies to the device, in stream order; pageable memory is read at the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyHtoDAsync_v2(to: u64, from: *const c_void, bytes: usize, stream: usize) -> Code {
    // SAFETY: the caller's promise.
    call(|driver| driver.upload(to, unsafe { host(from, bytes) }, stream))
}

/// Copies to the device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyHtoD_v2(to: u64, from: *const c_void, bytes: usize) -> Code {
    call(|driver| {
        driver.wait(0)?;
        // SAFETY: the caller's promise.
        driver.upload(to, unsafe { host(from, bytes) }, 0)
    })
}

/// Copies to the host, and waits for that.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyDtoHAsync_v2(to: *mut c_void, from: u64, bytes: usize, stream: usize) -> Code {
    // SAFETY: the caller's promise.
    call(|driver| unsafe { driver.download(to, from, bytes, stream) })
}

/// Copies to the host.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyDtoH_v2(to: *mut c_void, from: u64, bytes: usize) -> Code {
    // SAFETY: the caller's promise.
    unsafe { cuMemcpyDtoHAsync_v2(to, from, bytes, 0) }
}

/// Copies within the devices' memory, in stream order.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpyDtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: usize) -> Code {
    call(|driver| driver.copy(to, from, bytes, stream))
}

/// Copies within the devices' memory.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpyDtoD_v2(to: u64, from: u64, bytes: usize) -> Code {
    cuMemcpyDtoDAsync_v2(to, from, bytes, 0)
}

/// Copies from one context to another, in stream order.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpyPeerAsync(
    to: u64,
    to_context: usize,
    from: u64,
    from_context: usize,
    bytes: usize,
    stream: usize,
) -> Code {
    call(|driver| {
        for (context, address) in [(to_context, to), (from_context, from)] {
            let ordinal = driver.ordinal(context)?;
            if bytes > 0 && !driver.context(ordinal)?.device.owns(address) {
                return Err(INVALID_VALUE);
            }
        }
        driver.copy(to, from, bytes, stream)
    })
}

/// Allocates host memory that a device could copy from by itself.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemHostAlloc(pointer: *mut *mut c_void, bytes: usize, flags: c_uint) -> Code {
    call(|driver| {
        driver.here()?;
        let layout = Layout::from_size_align(bytes, 4096).map_err(|_| OUT_OF_MEMORY)?;
        if bytes == 0 || flags > 7 {
            return Err(INVALID_VALUE);
        }
        // SAFETY: the layout is not empty.
        let memory = unsafe { alloc::alloc(layout) };
        if memory.is_null() {
            return Err(OUT_OF_MEMORY);
        }
        driver.pinned.insert(memory.addr(), layout);
        // SAFETY: the caller's promise.
        unsafe { put(pointer, memory.cast()) }
    })
}

/// Frees host memory that `cuMemHostAlloc` gave.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemFreeHost(pointer: *mut c_void) -> Code {
    call(|driver| {
        let layout = driver.pinned.remove(&pointer.addr()).ok_or(INVALID_VALUE)?;
        // SAFETY: allocated with this layout, and not freed before, or it would not have been in the table.
        unsafe { alloc::dealloc(pointer.cast(), layout) };
        driver.here().map(drop)
    })
}
