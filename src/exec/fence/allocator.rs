//! The allocator of a worker: the system's, or while the switch is on, one that fences each allocation.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU8, Ordering};

use super::region::{self, Side};
use crate::run::effort;

/// The system's allocator, with a switch in the process: while a case runs fenced, allocations lie at the fence.
#[derive(Debug, Clone, Copy)]
pub struct Fencing;

const OFF: u8 = 0;
const AT_END: u8 = 1;
const AT_START: u8 = 2;

/// All threads of a case are fenced, candle's own, too.
static SWITCH: AtomicU8 = AtomicU8::new(OFF);

/// Fences the allocations that follow on this side, or none.
pub fn switch(side: Option<Side>) {
    let state = match side {
        None => OFF,
        Some(Side::End) => AT_END,
        Some(Side::Start) => AT_START,
    };
    SWITCH.store(state, Ordering::Relaxed);
}

fn side() -> Option<Side> {
    match SWITCH.load(Ordering::Relaxed) {
        AT_END => Some(Side::End),
        AT_START => Some(Side::Start),
        _ => None,
    }
}

#[allow(unsafe_code, reason = "the trait is unsafe")]
// SAFETY: memory comes from the system's allocator or from a slot of the region that nobody else has, and goes back to where its
// address says it is from.
unsafe impl GlobalAlloc for Fencing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        effort::allocated(layout.size() as i64);
        // SAFETY: the caller's layout is valid.
        side().and_then(|side| region::allocate(layout, side)).unwrap_or_else(|| unsafe { System.alloc(layout) })
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        effort::allocated(-(layout.size() as i64));
        if region::has(memory) {
            region::free(memory, layout);
        } else {
            // SAFETY: it is from the system's allocator, with this layout.
            unsafe { System.dealloc(memory, layout) }
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        effort::allocated(layout.size() as i64);
        let Some(memory) = side().and_then(|side| region::allocate(layout, side)) else {
            // SAFETY: the caller's layout is valid.
            return unsafe { System.alloc_zeroed(layout) };
        };
        // SAFETY: the slot has that many bytes.
        unsafe { memory.write_bytes(0, layout.size()) };
        memory
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if side().is_none() && !region::has(memory) {
            effort::allocated(size as i64 - layout.size() as i64);
            // SAFETY: it is from the system's allocator, with this layout.
            return unsafe { System.realloc(memory, layout, size) };
        }
        // SAFETY: the caller says that the size is valid with this alignment.
        let moved = unsafe { self.alloc(Layout::from_size_align_unchecked(size, layout.align())) };
        if !moved.is_null() {
            // SAFETY: both are allocated, do not overlap, and have that many bytes. The old one is not used any more.
            unsafe {
                moved.copy_from_nonoverlapping(memory, layout.size().min(size));
                self.dealloc(memory, layout);
            }
        }
        moved
    }
}
