//! Accesses of the host, and of the libraries that run on the device, to its memory.

use std::collections::HashMap;

use super::{Device, unsupported};
use crate::byte_set::ByteSet;
use crate::fault::{Detail, Fault, How, Kind, Near, Note};
use crate::isa::Space;
use crate::lifetime::Lifetime;
use crate::memory::AccessError;
use crate::undefined::Undefined;

/// The most that a library of the device does with pretended memory, in multiplications or elements.
const MOST_STEPS: usize = 1 << 30;

/// How many allocations a leak names.
const LEAKS_SHOWN: usize = 8;

impl Device {
    /// The address of `bytes` new bytes, 512-aligned; `None` if memory is used up.
    pub fn allocate(&mut self, bytes: u64) -> Option<u64> {
        self.memory.allocate(bytes)
    }

    /// The address of `bytes` new bytes that the host accesses at the same address; `None` if memory is used up.
    pub fn allocate_managed(&mut self, bytes: u64) -> Option<u64> {
        self.memory.allocate_managed(bytes)
    }

    /// The address of new pinned memory of the host; `None` if it cannot be had.
    pub fn allocate_host(&mut self, bytes: u64) -> Option<u64> {
        self.memory.allocate_host(bytes)
    }

    /// Forgets what this device had in memory of the host where another device has something now.
    pub fn forget_freed(&mut self, host: u64, bytes: u64) {
        self.memory.forget_freed(host, bytes);
    }

    /// Lets kernels access memory of the host at its own address, which is returned; `None` if that cannot be had.
    pub fn register(&mut self, bytes: &'static mut [u8]) -> Option<u64> {
        self.memory.register(bytes)
    }

    /// Ends that.
    pub fn withdraw(&mut self, address: u64) -> Result<(), Fault> {
        self.memory.withdraw(address).map_err(|error| host_fault("Invalid free of memory", error))
    }

    /// An address for `bytes` bytes, which a graph allocates when it is launched; `None` if memory is used up.
    pub fn reserve(&mut self, bytes: u64) -> Option<u64> {
        self.memory.reserve(bytes)
    }

    /// Allocates at a reserved address. `None` if it is in use, or memory is used up.
    pub fn allocate_at(&mut self, address: u64) -> Option<()> {
        self.memory.allocate_at(address)
    }

    /// Frees the allocation that begins at `address`.
    pub fn free(&mut self, address: u64) -> Result<(), Fault> {
        self.memory.free(address).map_err(|error| host_fault("Invalid free of memory", error))
    }

    /// A report of the allocations that the program never freed, if there are any.
    pub fn leak(&self) -> Option<Fault> {
        let of_modules = |address: u64| {
            let variables = self.modules.iter().flatten().filter_map(|loaded| loaded.variables.as_ref());
            variables.flat_map(HashMap::values).any(|&variable| variable == address)
        };
        let leaked: Vec<_> = self.memory.live().filter(|(address, ..)| !of_modules(*address)).collect();
        let bytes: u64 = leaked.iter().map(|(_, bytes, _)| bytes).sum();
        let (count, plural) = (leaked.len(), if leaked.len() == 1 { "" } else { "s" });
        let mut fault = Fault::new(Kind::Leak, "", format!("Leaked {bytes} bytes in {count} allocation{plural}"));
        let note = |(_, bytes, lifetime): &(u64, u64, &Lifetime)| {
            format!("{bytes} bytes {}", Note::Allocated((&lifetime.allocated).into())).into()
        };
        fault.notes.extend(leaked.iter().take(LEAKS_SHOWN).map(note));
        fault.notes.extend((count > LEAKS_SHOWN).then(|| format!("and {} more", count - LEAKS_SHOWN).into()));
        (count > 0).then_some(fault)
    }

    /// A range of one live allocation.
    pub fn bytes(&self, address: u64, bytes: u64) -> Result<&[u8], Fault> {
        self.memory.bytes(address, bytes).map_err(|error| host_fault(invalid(How::Read, bytes), error))
    }

    /// A range of one live allocation, for writing.
    pub fn bytes_mut(&mut self, address: u64, bytes: u64) -> Result<&mut [u8], Fault> {
        self.memory.bytes_mut(address, bytes).map_err(|error| host_fault(invalid(How::Write, bytes), error))
    }

    /// Fills a range of one live allocation with copies of a value.
    pub fn fill(&mut self, address: u64, bytes: u64, value: &[u8]) -> Result<(), Fault> {
        self.memory.fill(address, bytes, value).map_err(|error| host_fault(invalid(How::Write, bytes), error))
    }

    /// A range of one live allocation that the host reads. Bytes that were never written are reported.
    pub fn read(&mut self, address: u64, bytes: u64) -> Result<&[u8], Fault> {
        self.bytes(address, bytes)?;
        if let Some((first, count)) = self.memory.undefined(address, bytes).find_in(0, bytes as usize) {
            let (address, notes) = (address + first as u64, self.memory.life(address));
            let error = AccessError { kind: Kind::Uninitialized, address, near: self.memory.describe(address), notes };
            let what = format!("Uninitialized __global__ memory read by a copy to the host: {count} of {bytes} bytes");
            self.reports.push(host_fault(what, error));
        }
        self.bytes(address, bytes)
    }

    /// Copies within the device, as if all bytes were read before any is written. Overlapping ranges are reported. Undefined
    /// bits stay undefined in their copy.
    pub fn copy(&mut self, to: u64, from: u64, bytes: u64) -> Result<(), Fault> {
        if self.memory.is_pretended(to) && self.memory.base(to) != self.memory.base(from) {
            self.bytes(from, bytes)?;
            self.memory.bytes(to, bytes).map_err(|error| host_fault(invalid(How::Write, bytes), error))?;
            self.memory.copy_to_pretended(to, from, bytes);
            return Ok(());
        }
        let (data, undefined) = self.take(from, bytes)?;
        self.put(to, &data, &undefined)?;
        self.memory.copy_hidden(to, from, bytes);
        let distance = to.abs_diff(from);
        if distance < bytes {
            let near = Near::Overlap { bytes: bytes - distance };
            let error = AccessError { kind: Kind::Race, address: to.max(from), near, notes: Vec::new() };
            self.reports.push(host_fault(
                format!("Race reported in a copy of {bytes} bytes between ranges that overlap"),
                error,
            ));
        }
        Ok(())
    }

    /// A range of one live allocation, and which of its bits were never written.
    pub fn take(&self, from: u64, bytes: u64) -> Result<(Vec<u8>, Undefined), Fault> {
        Ok((self.bytes(from, bytes)?.to_vec(), self.memory.undefined(from, bytes)))
    }

    /// Writes what [`Self::take`] gave, from this device or another.
    pub fn put(&mut self, to: u64, data: &[u8], undefined: &Undefined) -> Result<(), Fault> {
        self.bytes_mut(to, data.len() as u64)?.copy_from_slice(data);
        self.memory.set_undefined(to, undefined);
        Ok(())
    }

    /// Hides bytes of the allocation that begins at this address: kernels must not access them.
    pub fn hide(&mut self, address: u64, hidden: ByteSet) {
        self.memory.hide(address, hidden);
    }

    /// Reports a read by a library of the device, if some of these bytes are outside of the view.
    pub fn check_view(&mut self, address: u64, bytes: u64) {
        if let Some(first) = self.memory.hidden(address, bytes) {
            let address = address + first as u64;
            let near = self.memory.describe(address);
            let error = AccessError { kind: Kind::OutOfView, address, near, notes: Vec::new() };
            let detail = Detail::OutOfView { how: How::Read, space: Space::Global.into() };
            self.reports.push(host_fault(detail, error));
        }
    }

    /// Whether some of these bytes were never written.
    pub fn is_undefined(&self, address: u64, bytes: u64) -> bool {
        !self.memory.undefined(address, bytes).is_empty()
    }

    /// Makes these bytes, which were just written, undefined because their source was.
    pub fn make_undefined(&mut self, address: u64, bytes: u64) {
        self.memory.set_undefined(address, &Undefined::new(bytes as usize, false));
    }

    /// An error if a library of the device would go through too much of pretended memory: it does so as a whole.
    pub fn affords(&self, address: u64, steps: usize) -> Result<(), Fault> {
        if steps <= MOST_STEPS || !self.memory.is_pretended(address) {
            return Ok(());
        }
        Err(unsupported(String::new(), format!("{steps} steps of a library on pretended memory")))
    }

    /// Whether `address` is in this device's range.
    pub fn owns(&self, address: u64) -> bool {
        self.memory.holds(address)
    }

    /// Bytes allocated.
    pub fn in_use(&self) -> u64 {
        self.memory.in_use()
    }

    /// The base of the live allocation at this address.
    pub fn base(&self, address: u64) -> Option<u64> {
        self.memory.base(address).filter(|_| self.owns(address))
    }
}

/// The host's access, as `compute-sanitizer` describes those of kernels.
fn invalid(how: How, bytes: u64) -> Detail {
    Detail::Access { how, space: Space::Global.into(), bytes }
}

fn host_fault(detail: impl Into<Detail>, error: AccessError) -> Fault {
    let AccessError { kind, address, near, notes } = error;
    Fault { address: Some(address), near: Some(near), notes, ..Fault::new(kind, "", detail) }
}
