//! Device memory: allocation, fills and copies, all of which happen at the call.

use super::Driver;
use crate::objects::codes::{Code, INVALID_VALUE, OUT_OF_MEMORY};
use crate::objects::{hide, report};
use simulator::Fault;
use std::ffi::c_void;
use std::ptr;

/// A fault of the call that the host is in.
fn in_call(calling: &str, fault: Fault) -> Fault {
    Fault { kernel: calling.to_string(), ..fault }
}

/// Reports a fault of the host's call. The call is refused at once, and the context stays sound.
fn refused(calling: &str, fault: Fault) -> Code {
    report::fault(&in_call(calling, fault));
    INVALID_VALUE
}

impl Driver {
    /// Allocates on the device of a stream. 0 bytes have an address too.
    pub(crate) fn allocate(&mut self, bytes: usize, stream: usize) -> Result<u64, Code> {
        self.context_of(stream)?.device.allocate(bytes as u64).ok_or(OUT_OF_MEMORY)
    }

    /// Allocates memory of the current device that the host accesses too.
    pub(crate) fn allocate_managed(&mut self, bytes: usize) -> Result<u64, Code> {
        self.current_context()?.device.allocate_managed(bytes as u64).ok_or(OUT_OF_MEMORY)
    }

    /// Frees memory. Does so in a dead context too, and then returns its error.
    pub(crate) fn free(&mut self, address: u64, stream: usize) -> Result<(), Code> {
        let calling = self.calling;
        let freed = self.allocation_at(address, true);
        self.device_of(address, stream)?.free(address).map_err(|fault| refused(calling, fault))?;
        self.record_work((self.stream_context(stream)?, stream), freed.as_slice(), calling);
        if let Some((base, _)) = freed {
            self.happens_before.forget(base);
        }
        self.context_of(stream).map(drop)
    }

    /// Fills memory.
    pub(crate) fn fill(&mut self, address: u64, value: u8, bytes: usize, stream: usize) -> Result<(), Code> {
        if self.context_of(stream)?.working().is_none() || bytes == 0 {
            return Ok(());
        }
        self.writable(address, bytes, stream)?.fill(value);
        self.record_accesses(&[(address, true)], stream)?;
        Ok(())
    }

    /// Copies from the host.
    pub(crate) fn upload(&mut self, to: u64, from: &[u8], stream: usize) -> Result<(), Code> {
        if self.context_of(stream)?.working().is_none() || from.is_empty() {
            return Ok(());
        }
        self.writable(to, from.len(), stream)?.copy_from_slice(from);
        if let Some(hidden) = hide::of_copy(from.len()) {
            self.device_of(to, stream)?.hide(to, hidden);
        }
        self.record_accesses(&[(to, true)], stream)?;
        Ok(())
    }

    /// Copies to the host and waits: the host's memory is taken to be pageable, as candle's is.
    ///
    /// # Safety
    /// `to` is valid for a write of `bytes` bytes.
    pub(crate) unsafe fn download(
        &mut self,
        to: *mut c_void,
        from: u64,
        bytes: usize,
        stream: usize,
    ) -> Result<(), Code> {
        self.wait(stream)?;
        if bytes == 0 {
            return Ok(());
        }
        let (address, calling) = (from, self.calling);
        let device = self.device_of(from, stream)?;
        let from = device.read(from, bytes as u64).map_err(|fault| refused(calling, fault))?;
        // SAFETY: the caller's promise, and device memory is not the program's to overlap with.
        unsafe { ptr::copy_nonoverlapping(from.as_ptr(), to.cast(), bytes) };
        device.reports().into_iter().for_each(|found| report::finding(&in_call(calling, found)));
        self.record_accesses(&[(address, false)], stream)?;
        let context = self.stream_context(stream)?;
        self.happens_before.synchronize(context, Some(stream));
        Ok(())
    }

    /// Copies within the memory of all devices.
    pub(crate) fn copy(&mut self, to: u64, from: u64, bytes: usize, stream: usize) -> Result<(), Code> {
        if self.context_of(stream)?.working().is_none() || bytes == 0 {
            return Ok(());
        }
        let calling = self.calling;
        let device = self.device_of(from, stream)?;
        if device.owns(to) {
            device.copy(to, from, bytes as u64).map_err(|fault| refused(calling, fault))?;
            device.reports().into_iter().for_each(|found| report::finding(&in_call(calling, found)));
        } else {
            let (data, undefined) = device.take(from, bytes as u64).map_err(|fault| refused(calling, fault))?;
            let there = self.device_of(to, stream)?;
            there.put(to, &data, &undefined).map_err(|fault| refused(calling, fault))?;
        }
        self.record_accesses(&[(from, false), (to, true)], stream)?;
        Ok(())
    }

    /// Records that the host's call accesses these addresses.
    fn record_accesses(&mut self, addresses: &[(u64, bool)], stream: usize) -> Result<(), Code> {
        let context = self.stream_context(stream)?;
        let touched: Vec<_> =
            addresses.iter().filter_map(|&(address, wrote)| self.allocation_at(address, wrote)).collect();
        self.record_work((context, stream), &touched, self.calling);
        Ok(())
    }

    fn writable(&mut self, address: u64, bytes: usize, stream: usize) -> Result<&mut [u8], Code> {
        let calling = self.calling;
        self.device_of(address, stream)?.bytes_mut(address, bytes as u64).map_err(|fault| refused(calling, fault))
    }
}
