//! Device memory: allocation, fills and copies, all of which happen at the call, or when a graph is launched.

pub mod array;
mod guarded;
pub(crate) mod hidden;
pub(crate) mod in_flight;
pub(crate) mod pinned;
pub(crate) mod pool;
pub(crate) mod pools;
pub(crate) mod region;
mod watched;

use crate::objects::codes::{Code, INVALID_VALUE, OUT_OF_MEMORY};
use crate::objects::driver::Driver;
use crate::objects::memory::pinned::Pinned;
use crate::objects::reports::report;
use crate::objects::streams::happens_before::Key;
use device_record::{Fault, How};
use std::ffi::c_void;
use std::{ptr, slice};

/// Reports a fault of the host's call. The call is refused at once, and the context stays sound.
fn refused(calling: &str, fault: Fault) -> Code {
    report::fault(&fault.in_call(calling));
    INVALID_VALUE
}

/// Rejects a copy of bytes of the host from or to a null pointer.
pub(super) fn check_host(pointer: u64, bytes: usize) -> Result<(), Code> {
    if pointer == 0 && bytes > 0 { Err(INVALID_VALUE) } else { Ok(()) }
}

impl Driver {
    /// Allocates on the device of a stream. 0 bytes have an address too.
    pub(crate) fn allocate(&mut self, bytes: usize, stream: usize) -> Result<u64, Code> {
        self.context_of(stream)?;
        let key = self.key(stream)?;
        let is_captured = self.valid_capture(key)?.is_some();
        let device = &mut self.context(key.0)?.device;
        if !is_captured {
            return device.allocate(bytes as u64).ok_or(OUT_OF_MEMORY);
        }
        let address = device.reserve(bytes as u64).ok_or(OUT_OF_MEMORY)?;
        if let Some(capture) = self.capture_of(key) {
            capture.graph.memory.push(address);
        }
        self.submit(key, move |driver, key| driver.context(key.0)?.device.allocate_at(address).ok_or(OUT_OF_MEMORY))?;
        Ok(address)
    }

    /// Allocates memory of the current device that the host accesses too.
    pub(crate) fn allocate_managed(&mut self, bytes: usize) -> Result<u64, Code> {
        let context = self.current()?;
        let allocated = self.checked(context)?.device.allocate_managed(bytes as u64).ok_or(OUT_OF_MEMORY)?;
        self.forget_elsewhere(context, allocated, bytes as u64);
        Ok(allocated)
    }

    /// Frees memory. Does so in a dead context too, and then returns its error.
    pub(crate) fn free(&mut self, address: u64, stream: usize) -> Result<(), Code> {
        let (key, calling) = (self.key(stream)?, self.calling);
        if let Some(capture) = self.valid_capture(key)?
            && !capture.graph.memory.contains(&address)
        {
            // A graph frees what it has allocated.
            capture.valid = false;
            return Err(INVALID_VALUE);
        }
        self.submit(key, move |driver, key| {
            let freed = driver.allocation_at(address, true);
            driver.device_of(address, key.0)?.free(address).map_err(|fault| refused(calling, fault))?;
            driver.record_work(key, freed.as_slice(), calling);
            if let Some((base, _)) = freed {
                driver.happens_before.forget(base);
            }
            driver.checked(key.0).map(drop)
        })
    }

    /// Ends the registration of memory of the host, which is at this address.
    pub(crate) fn withdraw(&mut self, address: u64, context: usize) -> Result<(), Code> {
        let (key, calling) = ((context, 0), self.calling);
        let withdrawn = self.allocation_at(address, true);
        self.context(context)?.device.withdraw(address).map_err(|fault| refused(calling, fault))?;
        self.record_work(key, withdrawn.as_slice(), calling);
        if let Some((base, _)) = withdrawn {
            self.happens_before.forget(base);
        }
        Ok(())
    }

    /// Fills memory with `count` values of `N` bytes.
    pub(crate) fn fill<const N: usize>(
        &mut self,
        address: u64,
        value: [u8; N],
        count: usize,
        stream: usize,
    ) -> Result<(), Code> {
        let (key, calling) = (self.key(stream)?, self.calling);
        self.checked(key.0)?;
        let bytes = count.checked_mul(N).filter(|_| address.is_multiple_of(N as u64)).ok_or(INVALID_VALUE)?;
        self.submit(key, move |driver, key| driver.fill_line(address, &value, bytes, key, calling))
    }

    pub(super) fn fill_line(
        &mut self,
        address: u64,
        value: &[u8],
        bytes: usize,
        key: Key,
        calling: &str,
    ) -> Result<(), Code> {
        if self.checked(key.0)?.working().is_none() || bytes == 0 {
            return Ok(());
        }
        let device = self.device_of(address, key.0)?;
        device.fill(address, bytes as u64, value).map_err(|fault| refused(calling, fault))?;
        self.record_accesses(&[(address, true)], key, calling);
        Ok(())
    }

    /// Copies from the host.
    ///
    /// # Safety
    /// `from` is valid for a read of `bytes` bytes, also when a graph is launched that the copy is part of.
    pub(crate) unsafe fn upload(
        &mut self,
        to: u64,
        from: *const c_void,
        bytes: usize,
        stream: usize,
    ) -> Result<(), Code> {
        let (key, calling) = (self.key(stream)?, self.calling);
        self.checked(key.0)?;
        let from = from.expose_provenance();
        check_host(from as u64, bytes)?;
        if self.valid_capture(key)?.is_none() && self.pinned_at(from as u64).is_none() {
            // Pageable memory may be gone after the call.
            self.await_stream(key)?;
        }
        self.submit(key, move |driver, key| {
            // SAFETY: the caller's promise.
            unsafe { driver.upload_now(to, ptr::with_exposed_provenance(from), bytes, key, calling) }
        })
    }

    /// # Safety
    /// `from` is valid for a read of `bytes` bytes.
    pub(super) unsafe fn upload_now(
        &mut self,
        to: u64,
        from: *const c_void,
        bytes: usize,
        key: Key,
        calling: &str,
    ) -> Result<(), Code> {
        if self.checked(key.0)?.working().is_none() || bytes == 0 {
            return Ok(());
        }
        let device = self.device_of(to, key.0)?;
        device.count_copy(bytes as u64);
        let there = device.bytes_mut(to, bytes as u64).map_err(|fault| refused(calling, fault))?;
        // SAFETY: the caller's promise.
        there.copy_from_slice(unsafe { slice::from_raw_parts(from.cast(), bytes) });
        if let Some(hidden) = hidden::of_copy(bytes) {
            device.hide(to, hidden);
        }
        self.record_accesses(&[(to, true)], key, calling);
        self.watch(from.addr() as u64, bytes, How::Read, key, calling);
        Ok(())
    }

    /// Copies to the host, and waits unless its memory is pinned. What a graph copies is there after the launch.
    ///
    /// # Safety
    /// `to` is valid for a write of `bytes` bytes, also when a graph is launched that the copy is part of.
    pub(crate) unsafe fn download(
        &mut self,
        to: *mut c_void,
        from: u64,
        bytes: usize,
        stream: usize,
    ) -> Result<(), Code> {
        let (key, calling) = (self.key(stream)?, self.calling);
        let to = to.expose_provenance();
        check_host(to as u64, bytes)?;
        // An empty copy does not wait.
        let waits = self.valid_capture(key)?.is_none() && self.pinned_at(to as u64).is_none() && bytes > 0;
        if waits {
            self.wait(stream)?;
        }
        self.submit(key, move |driver, key| {
            // SAFETY: the caller's promise.
            unsafe { driver.download_now(ptr::with_exposed_provenance_mut(to), from, bytes, key, calling) }
        })?;
        if waits {
            self.host_waits_for(key.0, Some(key.1));
        }
        Ok(())
    }

    /// # Safety
    /// `to` is valid for a write of `bytes` bytes.
    pub(super) unsafe fn download_now(
        &mut self,
        to: *mut c_void,
        from: u64,
        bytes: usize,
        key: Key,
        calling: &str,
    ) -> Result<(), Code> {
        if self.checked(key.0)?.working().is_none() || bytes == 0 {
            return Ok(());
        }
        let device = self.device_of(from, key.0)?;
        device.count_copy(bytes as u64);
        let data = device.read(from, bytes as u64).map_err(|fault| refused(calling, fault))?;
        // SAFETY: the caller's promise, and device memory is not the program's to overlap with.
        unsafe { ptr::copy_nonoverlapping(data.as_ptr(), to.cast(), bytes) };
        device.reports().into_iter().for_each(|found| report::finding(&found.in_call(calling)));
        self.record_accesses(&[(from, false)], key, calling);
        self.watch(to.addr() as u64, bytes, How::Write, key, calling);
        Ok(())
    }

    /// Copies within the memory of all devices.
    pub(crate) fn copy(&mut self, to: u64, from: u64, bytes: usize, stream: usize) -> Result<(), Code> {
        let (key, calling) = (self.key(stream)?, self.calling);
        self.checked(key.0)?;
        self.submit(key, move |driver, key| driver.copy_within(to, from, bytes, key, calling))
    }

    pub(super) fn copy_within(
        &mut self,
        to: u64,
        from: u64,
        bytes: usize,
        key: Key,
        calling: &str,
    ) -> Result<(), Code> {
        if self.checked(key.0)?.working().is_none() || bytes == 0 {
            return Ok(());
        }
        let device = self.device_of(from, key.0)?;
        device.count_copy(bytes as u64);
        if device.owns(to) {
            device.copy(to, from, bytes as u64).map_err(|fault| refused(calling, fault))?;
            device.reports().into_iter().for_each(|found| report::finding(&found.in_call(calling)));
        } else {
            let (data, undefined) = device.take(from, bytes as u64).map_err(|fault| refused(calling, fault))?;
            let there = self.device_of(to, key.0)?;
            there.put(to, &data, &undefined).map_err(|fault| refused(calling, fault))?;
        }
        self.record_accesses(&[(from, false), (to, true)], key, calling);
        Ok(())
    }

    /// Copies between any memory of the host and of all devices.
    ///
    /// # Safety
    /// What is of the host is valid for a read or write of `bytes` bytes, also when a graph is launched that the copy is part of.
    pub(crate) unsafe fn copy_any(&mut self, to: u64, from: u64, bytes: usize, stream: usize) -> Result<(), Code> {
        let of_device = |address| self.contexts.iter().flatten().any(|context| context.device.owns(address));
        let host = |address: u64| ptr::with_exposed_provenance_mut::<c_void>(address as usize);
        match (of_device(to), of_device(from)) {
            (true, true) => self.copy(to, from, bytes, stream),
            // SAFETY: the caller's promise.
            (true, false) => unsafe { self.upload(to, host(from), bytes, stream) },
            // SAFETY: the caller's promise.
            (false, true) => unsafe { self.download(host(to), from, bytes, stream) },
            (false, false) => {
                let key = self.key(stream)?;
                check_host(from, bytes).and_then(|()| check_host(to, bytes))?;
                if self.valid_capture(key)?.is_none() {
                    self.await_stream(key)?;
                }
                self.submit(key, move |driver, key| {
                    let host = |address: u64| ptr::with_exposed_provenance_mut::<u8>(address as usize);
                    if driver.checked(key.0)?.working().is_some() {
                        // SAFETY: the caller's promise.
                        unsafe { ptr::copy(host(from), host(to), bytes) };
                        driver.stop_watching(&(to..to.saturating_add(bytes as u64)));
                    }
                    Ok(())
                })
            }
        }
    }

    /// Records that a call of the host accesses these addresses.
    fn record_accesses(&mut self, addresses: &[(u64, bool)], stream: Key, calling: &str) {
        let touched: Vec<_> =
            addresses.iter().filter_map(|&(address, wrote)| self.allocation_at(address, wrote)).collect();
        self.record_work(stream, &touched, calling);
    }

    /// The allocation at an address, as [`Self::record_work`] takes it.
    pub(crate) fn allocation_at(&mut self, address: u64, wrote: bool) -> Option<(u64, bool)> {
        let mut devices = self.contexts.iter().flatten().map(|context| &context.device);
        Some((devices.find_map(|device| device.base(address))?, wrote))
    }

    /// True if the allocation at this device address is pinned host memory.
    pub(crate) fn is_pinned(&self, base: u64) -> bool {
        let devices = || self.contexts.iter().flatten().map(|context| &context.device);
        self.pinned.keys().any(|&host| devices().any(|device| device.base(host) == Some(base)))
    }

    /// Forgets what contexts other than the one that has just allocated this memory of the host had freed there.
    pub(crate) fn forget_elsewhere(&mut self, context: usize, host: u64, bytes: u64) {
        let others = self.contexts.iter_mut().enumerate().filter(|(index, _)| *index != context);
        others.filter_map(|(_, other)| other.as_mut()).for_each(|other| other.device.forget_freed(host, bytes));
    }

    /// Forgets pinned memory that begins at this address.
    pub(crate) fn unpin(&mut self, address: u64) {
        if let Some(pinned) = self.pinned.remove(&address) {
            self.stop_watching(&(address..address + pinned.bytes));
        }
    }

    /// The pinned memory that has this address, and where it begins.
    pub(crate) fn pinned_at(&self, address: u64) -> Option<(u64, &Pinned)> {
        let (&start, found) = self.pinned.range(..=address).next_back()?;
        (address - start < found.bytes).then_some((start, found))
    }
}
