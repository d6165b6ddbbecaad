//! Global memory: one address slot per allocation, its base in the slot's middle. A wild index stays in the slot of the
//! buffer that it was meant for, so bounds, lifetime and alignment are exact, attributed, and cost one table look-up.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::dump;
use crate::fault::Kind;
use crate::kernel::Kernel;
use crate::lanes::{Lanes, WARP, lanes};
use crate::lifetime::{Lifetime, Moment};
use crate::marks::Marks;
use crate::piece::{Piece, Seen, Written};
use crate::race::{EPOCHS, Who};

/// The bits of an address within a slot: 1 TiB, so that any 32-bit index times any element stays inside.
const SLOT_BITS: u32 = 40;
/// Where an allocation begins in its slot.
const BASE: u64 = 1 << (SLOT_BITS - 1);
/// The bits of a slot's number.
const NUMBER_BITS: u32 = 20;
/// How many freed slots are remembered, for use after free, before the oldest is used again.
const QUARANTINE: usize = 1 << 18;
/// What fresh memory holds: neither zero nor a NaN, so that reading it shows.
const FRESH: u8 = 0xA5;

/// An access that is no access.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// Out of bounds, use after free, misaligned, or an invalid free.
    pub kind: Kind,
    /// The address.
    pub address: u64,
    /// What lies there, in words.
    pub place: String,
    /// What else is known of it, a line each.
    pub notes: Vec<String>,
}

#[derive(Debug, Default)]
struct Slot {
    piece: Piece,
    live: bool,
    bytes: u64,
    lifetime: Lifetime,
}

/// The global memory of one device.
#[derive(Debug)]
pub struct Memory {
    ordinal: u64,
    budget: u64,
    in_use: u64,
    /// Whether fresh memory counts as undefined.
    tracked: bool,
    /// The launch, as stamps of accesses count them: from 1.
    epoch: u32,
    /// The allocations that this launch reads or writes, and whether it writes; while somebody wants to know.
    touched: Option<Vec<(u64, bool)>>,
    slots: Vec<Slot>,
    freed: VecDeque<usize>,
    now: Moment,
}

impl Memory {
    /// The memory of device `ordinal`, of `budget` bytes; whether it is tracked who has written what.
    pub fn new(ordinal: usize, budget: u64, tracked: bool) -> Self {
        // Slot 0 is null's.
        Self {
            ordinal: ordinal as u64 + 1,
            budget,
            in_use: 0,
            tracked,
            epoch: 0,
            touched: None,
            slots: vec![Slot::default()],
            freed: VecDeque::new(),
            now: Moment::default(),
        }
    }

    /// Begins a launch, whose number is given: what happened before is ordered before it, and what is allocated and freed
    /// from now on is so after it.
    pub fn begin(&mut self, kernel: &Arc<Kernel>) -> u32 {
        self.now.launch(kernel);
        self.epoch += 1;
        if self.epoch == EPOCHS {
            self.epoch = 1;
            self.slots.iter_mut().for_each(|slot| slot.piece.cells.clear());
        }
        self.epoch
    }

    pub fn in_use(&self) -> u64 {
        self.in_use
    }

    /// Whether `address` is in this device's range.
    pub fn owns(&self, address: u64) -> bool {
        address >> (SLOT_BITS + NUMBER_BITS) == self.ordinal
    }

    /// The address of a new allocation; `None` where the budget does not hold it.
    pub fn allocate(&mut self, bytes: u64) -> Option<u64> {
        if bytes > self.budget - self.in_use {
            return None;
        }
        let lifetime = Lifetime { allocated: self.now.clone(), freed: None };
        let piece = Piece::new(bytes as usize, FRESH, !self.tracked);
        let slot = Slot { piece, live: true, bytes, lifetime };
        let number = if self.freed.len() > QUARANTINE || self.slots.len() == 1 << NUMBER_BITS {
            let number = self.freed.pop_front()?;
            self.slots[number] = slot;
            number
        } else {
            self.slots.push(slot);
            self.slots.len() - 1
        };
        self.in_use += bytes;
        Some(self.address(number))
    }

    /// Frees the allocation that begins at `address`.
    pub fn free(&mut self, address: u64) -> Result<(), Trouble> {
        let (number, offset) = locate(address);
        match self.slots.get_mut(number).filter(|_| self.ordinal == address >> (SLOT_BITS + NUMBER_BITS)) {
            Some(slot) if slot.live && address & ((1 << SLOT_BITS) - 1) == BASE => {
                slot.live = false;
                slot.lifetime.freed = Some(self.now.clone());
                slot.piece = Piece::default();
                self.in_use -= slot.bytes;
                self.freed.push_back(number);
                Ok(())
            }
            Some(slot) if !slot.live && offset == 0 && number != 0 => {
                let place = format!("that of an allocation of size {} bytes that was freed before", slot.bytes);
                Err(Trouble { kind: Kind::InvalidFree, address, place, notes: slot.lifetime.notes() })
            }
            _ => Err(Trouble { kind: Kind::InvalidFree, ..self.trouble(address, 0) }),
        }
    }

    /// `bytes` bytes at `address`, all of one live allocation.
    pub fn bytes(&self, address: u64, bytes: u64) -> Result<&[u8], Trouble> {
        let (number, offset) = locate(address);
        let found =
            self.slots.get(number).and_then(|slot| slot.piece.data.get(offset..offset.checked_add(bytes as usize)?));
        match found {
            Some(found) if self.is_live(address, number) => Ok(found),
            _ => Err(self.trouble(address, bytes)),
        }
    }

    /// As [`Self::bytes`], to write.
    pub fn bytes_mut(&mut self, address: u64, bytes: u64) -> Result<&mut [u8], Trouble> {
        self.bytes(address, bytes)?;
        let (number, offset) = locate(address);
        let Piece { data, undefined, .. } = &mut self.slots[number].piece;
        undefined.clear(offset, bytes as usize);
        Ok(&mut data[offset..offset + bytes as usize])
    }

    /// Which of some bytes nobody has written; of no allocation, none.
    pub fn undefined(&self, address: u64, bytes: u64) -> Marks {
        match self.bytes(address, bytes) {
            Ok(_) => self.slots[locate(address).0].piece.undefined.part(locate(address).1, bytes as usize),
            Err(_) => Marks::none(bytes as usize),
        }
    }

    /// Says which of some bytes, that were just written, are as undefined as what was written there.
    pub fn set_undefined(&mut self, address: u64, marks: &Marks) {
        let (number, offset) = locate(address);
        if self.tracked && self.bytes(address, marks.length() as u64).is_ok() {
            self.slots[number].piece.undefined.put(offset, marks);
        }
    }

    /// Looks at a warp's reads; see [`Piece::reads`].
    pub fn reads(&mut self, bytes: usize, at: &Lanes, mask: u32, who: Option<&Who>, seen: &mut Seen) {
        self.each_slot(at, mask, false, |piece, starts, mask| piece.reads(bytes, starts, mask, who, seen));
    }

    /// Looks at a warp's writes; see [`Piece::writes`].
    pub fn writes(
        &mut self,
        bytes: usize,
        at: &Lanes,
        mask: u32,
        written: Written,
        who: Option<&Who>,
        seen: &mut Seen,
    ) {
        self.each_slot(at, mask, true, |piece, starts, mask| piece.writes(bytes, starts, mask, written, who, seen));
    }

    /// Where an address of a live allocation lies, in words.
    pub fn place(&self, address: u64) -> String {
        let (number, offset) = locate(address);
        let bytes = self.slots.get(number).map_or(0, |slot| slot.bytes);
        format!("at offset {offset} of an allocation of size {bytes} bytes")
    }

    /// Marks the bytes of an allocation that kernels have no business with.
    pub fn hide(&mut self, address: u64, marks: Marks) {
        let (number, offset) = locate(address);
        if offset == 0 && self.bytes(address, marks.length() as u64).is_ok_and(|bytes| bytes.len() == marks.length()) {
            self.slots[number].piece.hidden = marks;
        }
    }

    /// The first of some bytes that kernels have no business with.
    pub fn hidden(&self, address: u64, bytes: u64) -> Option<usize> {
        let (number, offset) = locate(address);
        let slot = self.slots.get(number).filter(|slot| slot.live && !slot.piece.hidden.is_none())?;
        self.bytes(address, bytes).ok()?;
        slot.piece.hidden.within(offset, bytes as usize).map(|(first, _)| first - offset)
    }

    /// What is hidden of an allocation is hidden of its whole copy.
    pub fn copy_hidden(&mut self, to: u64, from: u64, bytes: u64) {
        let (number, offset) = locate(from);
        let hidden = &self.slots[number].piece.hidden;
        if offset == 0 && !hidden.is_none() && hidden.length() as u64 == bytes {
            let copy = hidden.part(0, bytes as usize);
            self.hide(to, copy);
        }
    }

    /// Where the allocation that holds an address comes from, a line each.
    pub fn life(&self, address: u64) -> Vec<String> {
        self.slots.get(locate(address).0).map_or_else(Vec::new, |slot| slot.lifetime.notes())
    }

    /// Begins to note which allocations are touched.
    pub fn note_touched(&mut self) {
        self.touched = Some(Vec::new());
    }

    /// The allocations that were touched since, by their addresses, and whether they were written.
    pub fn touched(&mut self) -> Vec<(u64, bool)> {
        self.touched.take().unwrap_or_default()
    }

    /// Where the live allocation that holds this address begins.
    pub fn base(&self, address: u64) -> Option<u64> {
        let (number, _) = locate(address);
        self.is_live(address, number).then(|| self.address(number))
    }

    fn touch(&mut self, number: usize, write: bool) {
        let base = self.address(number);
        let Some(touched) = &mut self.touched else { return };
        match touched.iter_mut().find(|(known, _)| *known == base) {
            Some((_, wrote)) => *wrote |= write,
            None => touched.push((base, write)),
        }
    }

    /// One live allocation at a time, with the offsets of the lanes that access it.
    fn each_slot(&mut self, at: &Lanes, mask: u32, write: bool, mut visit: impl FnMut(&mut Piece, &Lanes, u32)) {
        let mut rest = mask;
        while rest != 0 {
            let first = at[rest.trailing_zeros() as usize];
            let (mut here, mut starts) = (0, [0; WARP]);
            for lane in 0..WARP {
                here |= u32::from(at[lane] >> SLOT_BITS == first >> SLOT_BITS) << lane;
                starts[lane] = (at[lane] & ((1 << SLOT_BITS) - 1)).wrapping_sub(BASE);
            }
            let (number, _) = locate(first);
            if self.is_live(first, number) {
                self.touch(number, write);
                visit(&mut self.slots[number].piece, &starts, here & rest);
            }
            rest &= !here;
        }
    }

    /// Reads `N` bytes for each lane of `mask` into `out`.
    pub fn gather<const N: usize>(&self, at: &Lanes, mask: u32, out: &mut Lanes) -> Result<(), (usize, Trouble)> {
        let mut cached = usize::MAX;
        let mut data: &[u8] = &[];
        for lane in lanes(mask) {
            let address = at[lane];
            let (number, offset) = locate(address);
            if number != cached {
                cached = number;
                data = self.live_data(address, number);
            }
            match data.get(offset..).and_then(<[u8]>::first_chunk::<N>) {
                Some(bytes) if address.is_multiple_of(N as u64) => out[lane] = from_bytes(bytes),
                _ => return Err((lane, self.trouble_of_access(address, N as u64))),
            }
        }
        Ok(())
    }

    /// Writes the low `N` bytes of each lane of `mask`.
    pub fn scatter<const N: usize>(&mut self, at: &Lanes, mask: u32, values: &Lanes) -> Result<(), (usize, Trouble)> {
        let mut rest = mask;
        // One slot at a time, so that it is looked up once: lanes almost always write to one buffer.
        while rest != 0 {
            let first = at[rest.trailing_zeros() as usize];
            let (number, _) = locate(first);
            let live = self.is_live(first, number);
            let mut bad = None;
            let data: &mut [u8] = if live { &mut self.slots[number].piece.data } else { &mut [] };
            for lane in lanes(rest) {
                let address = at[lane];
                if address >> SLOT_BITS != first >> SLOT_BITS {
                    break;
                }
                let offset = (address & ((1 << SLOT_BITS) - 1)).wrapping_sub(BASE) as usize;
                match data.get_mut(offset..).and_then(<[u8]>::first_chunk_mut::<N>) {
                    Some(bytes) if address.is_multiple_of(N as u64) => {
                        bytes.copy_from_slice(&values[lane].to_le_bytes()[..N]);
                        rest &= !(1 << lane);
                    }
                    _ => {
                        bad = Some((lane, address));
                        break;
                    }
                }
            }
            if let Some((lane, address)) = bad {
                return Err((lane, self.trouble_of_access(address, N as u64)));
            }
        }
        Ok(())
    }

    fn address(&self, number: usize) -> u64 {
        self.ordinal << (SLOT_BITS + NUMBER_BITS) | (number as u64) << SLOT_BITS | BASE
    }

    fn is_live(&self, address: u64, number: usize) -> bool {
        self.owns(address) && self.slots.get(number).is_some_and(|slot| slot.live)
    }

    fn live_data(&self, address: u64, number: usize) -> &[u8] {
        if self.is_live(address, number) { &self.slots[number].piece.data } else { &[] }
    }

    fn trouble_of_access(&self, address: u64, bytes: u64) -> Trouble {
        match self.bytes(address, bytes) {
            Ok(_) => {
                let place = format!("no multiple of {bytes}");
                Trouble { kind: Kind::Misaligned, place, ..self.trouble(address, bytes) }
            }
            Err(trouble) => trouble,
        }
    }

    fn trouble(&self, address: u64, bytes: u64) -> Trouble {
        let (number, offset) = locate(address);
        let offset = offset as i64;
        let Some(slot) = self.slots.get(number).filter(|_| self.owns(address) && number != 0) else {
            let nowhere = "where no allocation of this device ever was";
            let place = if address >> SLOT_BITS == 0 { "near the null pointer" } else { nowhere }.to_string();
            return Trouble { kind: Kind::OutOfBounds, address, place, notes: Vec::new() };
        };
        let (size, distance) = (slot.bytes, offset.unsigned_abs());
        let place = match offset {
            ..0 => format!("{distance} bytes before the nearest allocation of size {size} bytes"),
            _ if bytes == 0 => format!("offset {offset} of an allocation of size {size} bytes"),
            _ if distance >= size => {
                let after = distance - size;
                format!("{after} bytes after the nearest allocation of size {size} bytes")
            }
            _ => format!("{bytes} bytes at offset {offset} of an allocation of size {size} bytes"),
        };
        let kind = if slot.live { Kind::OutOfBounds } else { Kind::UseAfterFree };
        let mut notes = slot.lifetime.notes();
        notes.extend(dump::around(&slot.piece.data, offset, bytes));
        Trouble { kind, address, place, notes }
    }
}

/// The slot of an address, and the offset in it; an offset before the base is huge.
fn locate(address: u64) -> (usize, usize) {
    let number = (address >> SLOT_BITS & ((1 << NUMBER_BITS) - 1)) as usize;
    (number, (address & ((1 << SLOT_BITS) - 1)).wrapping_sub(BASE) as usize)
}

fn from_bytes<const N: usize>(bytes: &[u8; N]) -> u64 {
    let mut wide = [0; 8];
    wide[..N].copy_from_slice(bytes);
    u64::from_le_bytes(wide)
}
