//! Global memory: one address slot per allocation, its base in the slot's middle. A wild index stays in the slot of the
//! buffer that it was meant for. So bounds, lifetime and alignment are exact, attributed, and cost one table look-up.

mod lanes;
mod managed;
mod pages;
mod pretended;
mod snapshot;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::byte_set::ByteSet;
use crate::config::Config;
use crate::dump;
use crate::fault::{Kind, Near, Note};
use crate::kernel::Kernel;
use crate::lifetime::{Lifetime, Moment};
use crate::memory::pages::Pages;
use crate::race::EPOCHS;
use crate::shadowed_buffer::ShadowedBuffer;
use crate::undefined::Undefined;

/// The bits of an address within a slot: 1 TiB, so that any 32-bit index times any element stays inside.
const SLOT_BITS: u32 = 40;
/// Where an allocation begins in its slot.
const BASE: u64 = 1 << (SLOT_BITS - 1);
/// The bits of a slot's number.
const NUMBER_BITS: u32 = 20;
/// How many freed slots are kept, to find use after free, before the oldest is reused.
const QUARANTINE: usize = 1 << 18;
/// The slot of the chunks that allocations share, if they do.
const SHARED: usize = 1;
/// What fresh memory holds: neither zero nor NaN, so that reading it is noticed.
const FRESH: u8 = 0xA5;

/// Why an access is invalid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessError {
    /// Out of bounds, use after free, misaligned, or an invalid free.
    pub kind: Kind,
    /// The address.
    pub address: u64,
    /// What is at the address.
    pub near: Near,
    /// What else is known.
    pub notes: Vec<Note>,
}

#[derive(Debug, Default)]
struct Slot {
    buffer: ShadowedBuffer,
    live: bool,
    /// Whether it is a graph's, which allocates it anew at each launch.
    reserved: bool,
    /// Whether it is the host's memory, or the system's, which the device's budget does not count.
    of_host: bool,
    /// The address of its bytes in the process, if host and device share it.
    in_process: Option<u64>,
    bytes: u64,
    lifetime: Lifetime,
}

/// The global memory of one device.
#[derive(Debug)]
pub struct Memory {
    ordinal: u64,
    budget: u64,
    in_use: u64,
    /// The bytes in use at the last [`Memory::take_peak`], and the most since.
    peak: (u64, u64),
    /// Whether fresh memory counts as undefined.
    tracked: bool,
    /// From how many bytes on an allocation is pretended.
    pretend: Option<u64>,
    /// The launch's number in stamps of accesses, from 1.
    epoch: u32,
    /// The allocations that this launch accesses, and whether it writes to them; `None` if that is not recorded.
    touched: Option<Vec<(u64, bool)>>,
    slots: Vec<Slot>,
    freed: VecDeque<usize>,
    now: Moment,
    /// The chunks that allocations share as on a GPU; `None` if each has a slot of its own.
    pages: Option<Pages>,
    /// The slots of managed memory, by the address in the host's memory where their bytes are.
    managed: BTreeMap<u64, usize>,
}

impl Memory {
    /// The memory of device `ordinal`.
    pub fn new(ordinal: usize, config: &Config) -> Self {
        // Slot 0 is null's.
        let mut slots = vec![Slot::default()];
        slots.extend(config.hardware.then(|| Slot { live: true, ..Slot::default() }));
        Self {
            ordinal: ordinal as u64 + 1,
            budget: config.memory,
            in_use: 0,
            peak: (0, 0),
            tracked: config.checks.initialization && !config.hardware,
            pretend: config.pretend,
            epoch: 0,
            touched: None,
            slots,
            freed: VecDeque::new(),
            now: Moment::default(),
            pages: config.hardware.then(Pages::default),
            managed: BTreeMap::new(),
        }
    }

    /// Begins a launch and returns its number. It comes after everything before, and before allocations and frees from now
    /// on.
    pub fn begin(&mut self, kernel: &Arc<Kernel>) -> u32 {
        self.now.launch(kernel);
        self.begin_again()
    }

    /// Begins a launch that runs once more, and returns its number.
    pub fn begin_again(&mut self) -> u32 {
        self.epoch += 1;
        if self.epoch == EPOCHS {
            self.epoch = 1;
            self.slots.iter_mut().for_each(|slot| slot.buffer.cells.clear());
        }
        self.epoch
    }

    /// The allocations of the program that live, with their bytes and lives.
    pub fn live(&self) -> impl Iterator<Item = (u64, u64, &Lifetime)> {
        let of_program = |slot: &&Slot| slot.live && !slot.reserved && !slot.of_host && slot.bytes > 0;
        let slots = self.slots.iter().enumerate().map(|(number, slot)| (self.address(number), slot));
        slots.filter(move |(_, slot)| of_program(slot)).map(|(address, slot)| (address, slot.bytes, &slot.lifetime))
    }

    pub fn in_use(&self) -> u64 {
        self.in_use
    }

    /// The most memory that was in use since the last call, beyond what was in use then.
    pub fn take_peak(&mut self) -> u64 {
        let (start, most) = std::mem::replace(&mut self.peak, (self.in_use, self.in_use));
        most - start
    }

    /// Counts bytes as in use.
    fn use_more(&mut self, bytes: u64) {
        self.in_use += bytes;
        self.peak.1 = self.peak.1.max(self.in_use);
    }

    /// Whether `address` is in this device's range, or in its managed memory.
    pub fn owns(&self, address: u64) -> bool {
        self.in_slot(address) >> (SLOT_BITS + NUMBER_BITS) == self.ordinal
    }

    /// The address of a new allocation; `None` if it exceeds the budget.
    pub fn allocate(&mut self, bytes: u64) -> Option<u64> {
        if bytes > (self.budget - self.in_use).min(BASE) {
            return None;
        }
        let address = self.add(bytes, false)?;
        self.use_more(bytes);
        Some(address)
    }

    /// The address of new memory of the system; `None` if there is no slot for it.
    pub fn allocate_for_system(&mut self, bytes: u64) -> Option<u64> {
        self.add(bytes, true)
    }

    fn add(&mut self, bytes: u64, of_host: bool) -> Option<u64> {
        let is_pretended = self.pretend.is_some_and(|least| bytes >= least);
        if let Some(pages) = self.pages.as_mut().filter(|_| !of_host && !is_pretended) {
            let start = pages.allocate(bytes);
            let slot = &mut self.slots[SHARED];
            slot.bytes = pages.mapped();
            // What is not there yet is 0; what is stays as it was.
            slot.buffer.grow(slot.bytes as usize);
            return Some(self.address(SHARED) + start);
        }
        // The host's is not tracked. Its zeros take no memory until somebody writes.
        self.place(if of_host { own(bytes, 0, true)? } else { self.fresh(bytes)? }, of_host)
    }

    /// Fresh bytes, which are pretended if they are many; `None` if the process has no addresses for them.
    fn fresh(&self, bytes: u64) -> Option<ShadowedBuffer> {
        match self.pretend {
            Some(least) if bytes >= least => ShadowedBuffer::pretended(bytes as usize, !self.tracked),
            _ => own(bytes, FRESH, !self.tracked),
        }
    }

    /// Gives a buffer a slot, and returns its address.
    fn place(&mut self, buffer: ShadowedBuffer, of_host: bool) -> Option<u64> {
        let (bytes, lifetime) = (buffer.data.len() as u64, Lifetime { allocated: self.now.clone(), freed: None });
        let slot = Slot { buffer, live: true, of_host, bytes, lifetime, ..Slot::default() };
        let number = if self.freed.len() > QUARANTINE || self.slots.len() == 1 << NUMBER_BITS {
            let number = self.freed.pop_front()?;
            let forgotten = std::mem::replace(&mut self.slots[number], slot);
            // Unless something else is there by now.
            if let Some(host) = forgotten.in_process.filter(|host| self.managed.get(host) == Some(&number)) {
                self.managed.remove(&host);
            }
            number
        } else {
            self.slots.push(slot);
            self.slots.len() - 1
        };
        Some(self.address(number))
    }

    /// Frees the allocation that begins at `address`.
    pub fn free(&mut self, address: u64) -> Result<(), AccessError> {
        let address = self.in_slot(address);
        let (number, offset) = locate(address);
        if let Some(pages) = self.pages.as_mut().filter(|_| number == SHARED) {
            let freed = pages.free(offset as u64);
            self.in_use -= freed.unwrap_or(0);
            return freed.map(drop).ok_or_else(|| AccessError { kind: Kind::InvalidFree, ..self.error(address, 0) });
        }
        match self.slots.get_mut(number).filter(|_| self.ordinal == address >> (SLOT_BITS + NUMBER_BITS)) {
            Some(slot) if slot.live && address & ((1 << SLOT_BITS) - 1) == BASE => {
                slot.live = false;
                slot.lifetime.freed = Some(self.now.clone());
                slot.buffer = ShadowedBuffer::default();
                self.in_use -= if slot.of_host { 0 } else { slot.bytes };
                if !slot.reserved {
                    self.freed.push_back(number);
                }
                Ok(())
            }
            Some(slot) if !slot.live && offset == 0 && number != 0 => {
                let near = Near::Freed { size: slot.bytes };
                Err(AccessError { kind: Kind::InvalidFree, address, near, notes: slot.lifetime.notes() })
            }
            _ => Err(AccessError { kind: Kind::InvalidFree, ..self.error(address, 0) }),
        }
    }

    /// An address for `bytes` bytes, which are not allocated yet; `None` if they exceed the budget.
    pub fn reserve(&mut self, bytes: u64) -> Option<u64> {
        let address = self.allocate(bytes)?;
        let (number, _) = locate(address);
        if self.is_shared(number) {
            // A graph's memory stays its own.
            return Some(address);
        }
        self.slots[number].reserved = true;
        self.free(address).ok()?;
        Some(address)
    }

    /// Allocates at a reserved address. `None` if it is in use, or the budget is exceeded.
    pub fn allocate_at(&mut self, address: u64) -> Option<()> {
        let now = self.now.clone();
        let room = self.budget - self.in_use;
        let (number, _) = locate(address);
        if self.is_shared(number) {
            return Some(());
        }
        let slot = self.slots.get(number)?;
        if slot.live || !slot.reserved || slot.bytes > room {
            return None;
        }
        let (buffer, slot) = (self.fresh(slot.bytes)?, &mut self.slots[number]);
        slot.live = true;
        slot.lifetime = Lifetime { allocated: now, freed: None };
        slot.buffer = buffer;
        let bytes = slot.bytes;
        self.use_more(bytes);
        Some(())
    }

    /// `bytes` bytes at `address`, all of one live allocation.
    pub fn bytes(&self, address: u64, bytes: u64) -> Result<&[u8], AccessError> {
        let address = self.in_slot(address);
        let (number, offset) = locate(address);
        let found =
            self.slots.get(number).and_then(|slot| slot.buffer.data.get(offset..offset.checked_add(bytes as usize)?));
        match found {
            Some(found) if self.is_live(address, number) => Ok(found),
            _ => Err(self.error(address, bytes)),
        }
    }

    /// [`Self::bytes`] for writing.
    pub fn bytes_mut(&mut self, address: u64, bytes: u64) -> Result<&mut [u8], AccessError> {
        self.bytes(address, bytes)?;
        let (number, offset) = locate(self.in_slot(address));
        let ShadowedBuffer { data, undefined, .. } = &mut self.slots[number].buffer;
        undefined.clear(offset, bytes as usize);
        Ok(&mut data[offset..offset + bytes as usize])
    }

    /// Where an address is in its live allocation.
    pub fn describe(&self, address: u64) -> Near {
        let address = self.in_slot(address);
        let (number, offset) = locate(address);
        Near::Byte { offset: offset as u64, size: self.slots.get(number).map_or(0, |slot| slot.bytes) }
    }

    /// The base of the live allocation at this address.
    pub fn base(&self, address: u64) -> Option<u64> {
        let address = self.in_slot(address);
        let (number, _) = locate(address);
        self.is_live(address, number).then(|| self.address(number))
    }

    /// Which bits of these bytes were never written; none, if they are not in an allocation.
    pub fn undefined(&self, address: u64, bytes: u64) -> Undefined {
        match self.bytes(address, bytes) {
            Ok(_) => {
                let (number, offset) = locate(self.in_slot(address));
                self.slots[number].buffer.undefined.slice(offset, bytes as usize)
            }
            Err(_) => Undefined::new(bytes as usize, true),
        }
    }

    /// Sets which bits of these bytes, which were just written, are undefined because their source was.
    pub fn set_undefined(&mut self, address: u64, undefined: &Undefined) {
        let (number, offset) = locate(self.in_slot(address));
        if self.tracked && self.bytes(address, undefined.length() as u64).is_ok() {
            self.slots[number].buffer.undefined.copy_from(offset, undefined);
        }
    }

    /// Hides bytes of an allocation: kernels must not access them.
    pub fn hide(&mut self, address: u64, hidden: ByteSet) {
        let (number, offset) = locate(self.in_slot(address));
        let is_all = self.bytes(address, hidden.length() as u64).is_ok_and(|bytes| bytes.len() == hidden.length());
        if offset == 0 && is_all && !self.is_shared(number) {
            self.slots[number].buffer.hidden = hidden;
        }
    }

    /// The first hidden byte of these.
    pub fn hidden(&self, address: u64, bytes: u64) -> Option<usize> {
        let (number, offset) = locate(self.in_slot(address));
        let slot = self.slots.get(number).filter(|slot| slot.live && !slot.buffer.hidden.is_empty())?;
        self.bytes(address, bytes).ok()?;
        slot.buffer.hidden.find_in(offset, bytes as usize).map(|(first, _)| first - offset)
    }

    /// Hides the same bytes in a copy of a whole allocation.
    pub fn copy_hidden(&mut self, to: u64, from: u64, bytes: u64) {
        let (number, offset) = locate(self.in_slot(from));
        let hidden = &self.slots[number].buffer.hidden;
        if offset == 0 && !hidden.is_empty() && hidden.length() as u64 == bytes {
            let copy = hidden.slice(0, bytes as usize);
            self.hide(to, copy);
        }
    }

    /// When the allocation at an address was made and freed.
    pub fn life(&self, address: u64) -> Vec<Note> {
        self.slots.get(locate(self.in_slot(address)).0).map_or_else(Vec::new, |slot| slot.lifetime.notes())
    }

    /// Starts to record which allocations are accessed.
    pub fn note_touched(&mut self) {
        self.touched = Some(Vec::new());
    }

    /// The bases of the allocations that were accessed since, and whether they were written.
    pub fn touched(&mut self) -> Vec<(u64, bool)> {
        self.touched.take().unwrap_or_default()
    }

    fn address(&self, number: usize) -> u64 {
        self.ordinal << (SLOT_BITS + NUMBER_BITS) | (number as u64) << SLOT_BITS | BASE
    }

    /// True if a slot holds the chunks that allocations share.
    fn is_shared(&self, number: usize) -> bool {
        number == SHARED && self.pages.is_some()
    }

    fn is_live(&self, address: u64, number: usize) -> bool {
        self.owns(address) && self.slots.get(number).is_some_and(|slot| slot.live)
    }

    fn error(&self, address: u64, bytes: u64) -> AccessError {
        let (number, offset) = locate(address);
        let offset = offset as i64;
        let Some(slot) = self.slots.get(number).filter(|_| self.owns(address) && number != 0) else {
            let near = if address >> SLOT_BITS == 0 { Near::Null } else { Near::Nowhere };
            return AccessError { kind: Kind::OutOfBounds, address, near, notes: Vec::new() };
        };
        let near = Near::Allocation { offset, size: slot.bytes, bytes };
        let kind = if slot.live { Kind::OutOfBounds } else { Kind::UseAfterFree };
        let mut notes = slot.lifetime.notes();
        notes.extend(dump::around(&slot.buffer.data, offset, bytes));
        AccessError { kind, address, near, notes }
    }
}

/// Bytes of value `fill` in the process; `None` if a slot or the machine has no room for them.
fn own(bytes: u64, fill: u8, defined: bool) -> Option<ShadowedBuffer> {
    // A vector would end the process instead.
    let fits = bytes <= BASE && Vec::<u8>::new().try_reserve_exact(bytes as usize).is_ok();
    fits.then(|| ShadowedBuffer::new(bytes as usize, fill, defined))
}

/// The slot of an address, and the offset in it. An offset before the base wraps to a huge number.
fn locate(address: u64) -> (usize, usize) {
    let number = (address >> SLOT_BITS & ((1 << NUMBER_BITS) - 1)) as usize;
    (number, (address & ((1 << SLOT_BITS) - 1)).wrapping_sub(BASE) as usize)
}
