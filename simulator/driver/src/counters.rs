//! Counts what kernels execute where a fuzzer in the same process looks: bytes that it reads and clears after each input.

use simulator::{Device, FunctionId};
use std::collections::HashMap;
use std::slice;
use std::sync::{Mutex, PoisonError};

/// The fuzzer's bytes, and where each kernel's begin.
struct Counters {
    bytes: &'static mut [u8],
    /// By the kernel's name, in the order of first launches.
    first: HashMap<String, usize>,
    next: usize,
}

static COUNTERS: Mutex<Option<Counters>> = Mutex::new(None);

/// Grids are told apart by the power of two of their number of blocks.
const GRIDS: usize = 32;

/// From here on counts what kernels execute in `bytes[..length]`: for each kernel a byte for each class of grid, each
/// block of its code and each way of its branches, saturating; where they do not suffice, kernels share them.
///
/// # Safety
/// The bytes stay valid for writes to the end of the process, and nobody else touches them during a call of this library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn snuffer_sim_count_in(bytes: *mut u8, length: usize) {
    // SAFETY: the caller's promise.
    let bytes = unsafe { slice::from_raw_parts_mut(bytes, length) };
    *COUNTERS.lock().unwrap_or_else(PoisonError::into_inner) = Some(Counters { bytes, first: HashMap::new(), next: 0 });
}

/// Counts a launch of `function` that has ended, if somebody wants to know.
pub fn count(device: &mut Device, function: FunctionId, grid: [u32; 3]) {
    let mut counters = COUNTERS.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(Counters { bytes, first, next }) = counters.as_mut().filter(|counters| !counters.bytes.is_empty()) else {
        return;
    };
    let known = first.get(&device.entry(function).name).copied();
    let start = known.unwrap_or(*next);
    let mut add = |place: usize, count: u64| {
        let byte = &mut bytes[place % bytes.len()];
        *byte = byte.saturating_add(u8::try_from(count).unwrap_or(u8::MAX));
    };
    let blocks = grid.iter().map(|&n| u64::from(n)).product::<u64>();
    add(start + (blocks.ilog2() as usize).min(GRIDS - 1), 1);
    let mut end = start + GRIDS;
    for count in device.take_counts(function) {
        if count > 0 {
            add(end, count);
        }
        end += 1;
    }
    if known.is_none() {
        first.insert(device.entry(function).name.clone(), start);
        *next = end;
    }
}
