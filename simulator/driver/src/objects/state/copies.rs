//! Copies and fills of nodes of graphs, line by line.

use super::Driver;
use crate::objects::codes::Code;
use crate::objects::copy::{Copy3, Fill};
use crate::objects::happens_before::Key;
use std::ffi::c_void;

impl Driver {
    /// Copies, line by line.
    pub(super) fn copy_now(&mut self, copy: &Copy3, stream: Key) -> Result<(), Code> {
        let Copy3 { from, to, size: [width, lines, planes] } = copy;
        for plane in 0..*planes {
            for line in 0..*lines {
                let (to, from) = (to.line(line, plane), from.line(line, plane));
                // SAFETY: the caller who added the node promised it.
                unsafe { self.copy_line(to, from, *width, stream)? };
            }
        }
        Ok(())
    }

    /// Copies between any memory.
    ///
    /// # Safety
    /// What is of the host is valid for a read or write of `bytes` bytes.
    unsafe fn copy_line(&mut self, to: u64, from: u64, bytes: usize, key: Key) -> Result<(), Code> {
        let calling = self.calling;
        let of_device = |address| self.contexts.iter().flatten().any(|context| context.device.owns(address));
        let host = |address: u64| std::ptr::with_exposed_provenance_mut::<c_void>(address as usize);
        match (of_device(to), of_device(from)) {
            (true, true) => self.copy_within(to, from, bytes, key, calling),
            // SAFETY: the caller's promise.
            (true, false) => unsafe { self.upload_now(to, host(from), bytes, key, calling) },
            // SAFETY: the caller's promise.
            (false, true) => unsafe { self.download_now(host(to), from, bytes, key, calling) },
            (false, false) => {
                if self.checked(key.0)?.working().is_some() {
                    // SAFETY: the caller's promise.
                    unsafe { std::ptr::copy(host(from), host(to), bytes) };
                }
                Ok(())
            }
        }
    }

    /// Fills, line by line.
    pub(super) fn fill_now(&mut self, fill: &Fill, stream: Key) -> Result<(), Code> {
        let calling = self.calling;
        let value = &fill.value.to_le_bytes()[..fill.element as usize];
        for line in 0..fill.height {
            let to = fill.to.wrapping_add((line * fill.pitch) as u64);
            self.fill_line(to, value, fill.width * value.len(), stream, calling)?;
        }
        Ok(())
    }
}
