//! The range of addresses in which fenced allocations lie: slots of a few sizes, and between them pages that nobody may access. A slot
//! of elements is closed when it is freed, and stays so as long as there are others.

use std::alloc::Layout;
use std::io;
use std::mem::replace;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use device_record::{Kind, Near};
use serde::{Deserialize, Serialize};

/// Which end of its slot an allocation touches. The other end is as far away as the page's size and the alignment make it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// It ends where the slot ends: an access after it is noticed at once.
    End,
    /// It begins where the slot begins: an access before it is noticed at once.
    Start,
}

/// The bytes of a page on x86-64. Where pages are larger, nothing can be reserved, and nothing is fenced.
const PAGE: usize = 4096;

/// How wide a fence is. An index that is wrong by a row or two does not jump over it.
const FENCE: usize = 16 * PAGE;

/// Slots of one size.
struct Class {
    /// The bytes of a slot.
    size: usize,
    /// How many there are.
    slots: usize,
}

/// A case has few tensors of more than a page. All slots together are far fewer mappings than a process may have
/// (`vm.max_map_count`, 65,530). What does not fit is not fenced.
const CLASSES: [Class; 5] = [
    Class { size: PAGE, slots: 2048 },
    Class { size: 4 * PAGE, slots: 512 },
    Class { size: 16 * PAGE, slots: 128 },
    Class { size: 64 * PAGE, slots: 32 },
    Class { size: 256 * PAGE, slots: 8 },
];

/// How many slots there are.
const SLOTS: usize = {
    let (mut slots, mut class) = (0, 0);
    while class < CLASSES.len() {
        slots += CLASSES[class].slots;
        class += 1;
    }
    slots
};

/// The bytes of addresses that the region takes from a process's limit.
pub const ADDRESSES: usize = {
    let (mut bytes, mut class) = (FENCE, 0);
    while class < CLASSES.len() {
        bytes += CLASSES[class].slots * (FENCE + CLASSES[class].size);
        class += 1;
    }
    bytes
};

/// The contents of a slot. The handler of signals reads it without a lock.
struct Slot {
    /// Where the last allocation begins, from the beginning of the region.
    start: AtomicUsize,
    /// Its bytes; 0 before the first.
    bytes: AtomicUsize,
    /// Whether it was freed, and cannot be accessed.
    is_closed: AtomicBool,
    /// The next slot of the list that it is in.
    next: AtomicUsize,
}

static HELD: [Slot; SLOTS] = [const {
    Slot {
        start: AtomicUsize::new(0),
        bytes: AtomicUsize::new(0),
        is_closed: AtomicBool::new(false),
        next: AtomicUsize::new(SLOTS),
    }
}; SLOTS];

/// The free slots of a class. `SLOTS` stands for none.
#[derive(Clone, Copy)]
struct Free {
    /// How many were used at least once.
    used: usize,
    /// The one that was freed last, of those that can be accessed.
    open: usize,
    /// The ones that were freed first and last, of those that cannot.
    closed: (usize, usize),
}

static FREE: Mutex<[Free; CLASSES.len()]> =
    Mutex::new([Free { used: 0, open: SLOTS, closed: (SLOTS, SLOTS) }; CLASSES.len()]);

/// Where the region begins; 0 if there is none.
static BASE: AtomicUsize = AtomicUsize::new(0);

/// Reserves the addresses. Pages get memory when they are used.
pub fn reserve() -> io::Result<()> {
    if rustix::param::page_size() != PAGE {
        return Ok(());
    }
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    #[allow(unsafe_code, reason = "a system call")]
    // SAFETY: a new mapping at an address of the system's choice touches no memory that is in use.
    let base = unsafe { libc::mmap(null_mut(), ADDRESSES, libc::PROT_NONE, flags, -1, 0) };
    if base == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    BASE.store(base as usize, Ordering::Release);
    Ok(())
}

/// True if an allocation is in the region.
pub fn has(memory: *mut u8) -> bool {
    offset(memory as usize).is_some()
}

/// How far from its beginning an address of the region is.
fn offset(address: usize) -> Option<usize> {
    let base = BASE.load(Ordering::Relaxed);
    (base != 0).then(|| address.wrapping_sub(base)).filter(|offset| *offset < ADDRESSES)
}

/// Memory at the fence; `None` if no slot is free that is large enough.
pub fn allocate(layout: Layout, side: Side) -> Option<*mut u8> {
    let base = BASE.load(Ordering::Relaxed);
    let class = CLASSES.iter().position(|class| layout.size() <= class.size)?;
    if base == 0 || layout.align() > PAGE {
        return None;
    }
    let (slot, state) = take(class)?;
    let (begin, size) = place(slot);
    if state == State::New {
        set_apart(base + begin, size);
    }
    if state != State::Open && !protect(base + begin, size, libc::PROT_READ | libc::PROT_WRITE) {
        put_back(class, slot, false);
        return None;
    }
    let start = match side {
        Side::End => (begin + size - layout.size()) & !(layout.align() - 1),
        Side::Start => begin,
    };
    HELD[slot].start.store(start, Ordering::Relaxed);
    HELD[slot].bytes.store(layout.size(), Ordering::Relaxed);
    HELD[slot].is_closed.store(false, Ordering::Relaxed);
    Some((base + start) as *mut u8)
}

/// Takes the memory back, and closes it if it may have held the elements of a tensor. Shapes, nodes of graphs and texts are far more, and
/// are aligned to 8 bytes or to 1; to close them, too, would take longer than the cases.
pub fn free(memory: *mut u8, layout: Layout) {
    let Some((slot, _)) = offset(memory as usize).and_then(unit) else { return };
    let (begin, size) = place(slot);
    let closes = [2, 4].contains(&layout.align());
    let is_closed = closes && protect(BASE.load(Ordering::Relaxed) + begin, size, libc::PROT_NONE);
    HELD[slot].is_closed.store(is_closed, Ordering::Relaxed);
    put_back(class_of(slot).0, slot, !is_closed);
}

/// The state in which a free slot was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// It can be accessed.
    Open,
    /// Nobody had it yet.
    New,
    /// It was closed.
    Closed,
}

/// A free slot: one that can be accessed, or one that was never used, or else the one that was closed first.
fn take(class: usize) -> Option<(usize, State)> {
    let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
    let Free { used, open, closed: (first, last) } = &mut free[class];
    if let Some(held) = HELD.get(*open) {
        return Some((replace(open, held.next.load(Ordering::Relaxed)), State::Open));
    }
    if *used < CLASSES[class].slots {
        *used += 1;
        return Some((first_of(class) + *used - 1, State::New));
    }
    let next = HELD.get(*first)?.next.load(Ordering::Relaxed);
    if next == SLOTS {
        *last = SLOTS;
    }
    Some((replace(first, next), State::Closed))
}

fn put_back(class: usize, slot: usize, is_open: bool) {
    let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
    let Free { open, closed: (first, last), .. } = &mut free[class];
    if is_open {
        HELD[slot].next.store(replace(open, slot), Ordering::Relaxed);
        return;
    }
    HELD[slot].next.store(SLOTS, Ordering::Relaxed);
    match HELD.get(replace(last, slot)) {
        Some(before) => before.next.store(slot, Ordering::Relaxed),
        None => *first = slot,
    }
}

/// Sets the accesses to the pages that are allowed. False if the system rejects that: a process may have only so many mappings.
fn protect(address: usize, size: usize, accesses: libc::c_int) -> bool {
    #[allow(unsafe_code, reason = "a system call")]
    // SAFETY: the pages are a slot of the region, which the caller has and nobody uses.
    let refused = unsafe { libc::mprotect(address as *mut libc::c_void, size, accesses) };
    refused == 0
}

/// Makes the pages of a slot a mapping of their own, which a closed one stays: otherwise it becomes one with the fences beside it, and is cut
/// out again, which costs several times as much. Nothing of this process is dumped.
fn set_apart(address: usize, size: usize) {
    #[allow(unsafe_code, reason = "a system call")]
    // SAFETY: the pages are a slot of the region, and stay as they are.
    unsafe {
        libc::madvise(address as *mut libc::c_void, size, libc::MADV_DONTDUMP);
    }
}

/// The number of a class's first slot.
fn first_of(class: usize) -> usize {
    CLASSES[..class].iter().map(|class| class.slots).sum()
}

/// A slot's class, and its number in it.
fn class_of(slot: usize) -> (usize, usize) {
    let class = (0..CLASSES.len()).rev().find(|class| first_of(*class) <= slot).unwrap_or(0);
    (class, slot - first_of(class))
}

/// Where a slot begins in the region, behind its fence, and its bytes.
fn place(slot: usize) -> (usize, usize) {
    let (class, number) = class_of(slot);
    let before: usize = CLASSES[..class].iter().map(|class| class.slots * (FENCE + class.size)).sum();
    let size = CLASSES[class].size;
    (before + number * (FENCE + size) + FENCE, size)
}

/// The slot in which, or in the fence before which, an offset is, and whether it is in the slot. `None` behind the last one.
fn unit(offset: usize) -> Option<(usize, bool)> {
    let mut rest = offset;
    for (number, class) in CLASSES.iter().enumerate() {
        let unit = FENCE + class.size;
        if rest < class.slots * unit {
            return Some((first_of(number) + rest / unit, rest % unit >= FENCE));
        }
        rest -= class.slots * unit;
    }
    None
}

/// The fault of an access to this address, and which allocation is next to it; `None` outside of the region.
pub fn wrong(address: usize) -> Option<(Kind, Near)> {
    let offset = offset(address)?;
    let (slot, is_inside) = unit(offset).unwrap_or((SLOTS, false));
    if is_inside && HELD[slot].bytes.load(Ordering::Relaxed) > 0 {
        return Some(freed(slot, offset));
    }
    // In the fence between two slots.
    let near = [slot.checked_sub(1), Some(slot)].into_iter().flatten().filter_map(|slot| beside(slot, offset));
    let nearest = near.min_by_key(|(is_closed, distance, _)| (*is_closed, *distance)).map(|(.., near)| near);
    Some((Kind::OutOfBounds, nearest.unwrap_or(Near::Nowhere)))
}

/// An access to a slot that cannot be accessed.
fn freed(slot: usize, offset: usize) -> (Kind, Near) {
    let (start, bytes) = (HELD[slot].start.load(Ordering::Relaxed), HELD[slot].bytes.load(Ordering::Relaxed));
    let offset = offset as i64 - start as i64;
    let near = match u64::try_from(offset) {
        Ok(offset) if offset < bytes as u64 => Near::Byte { offset, size: bytes as u64 },
        _ => Near::Allocation { offset, size: bytes as u64, bytes: 1 },
    };
    (Kind::UseAfterFree, near)
}

/// An allocation beside an offset: whether it was freed, how far away it is, and both in words.
fn beside(slot: usize, offset: usize) -> Option<(bool, u64, Near)> {
    let Slot { start, bytes, is_closed, .. } = HELD.get(slot)?;
    let (start, size) = (start.load(Ordering::Relaxed), bytes.load(Ordering::Relaxed) as u64);
    let offset = offset as i64 - start as i64;
    let distance = if offset < 0 { offset.unsigned_abs() } else { (offset as u64).saturating_sub(size) };
    let near = Near::Allocation { offset, size, bytes: 1 };
    (size > 0).then(|| (is_closed.load(Ordering::Relaxed), distance, near))
}
