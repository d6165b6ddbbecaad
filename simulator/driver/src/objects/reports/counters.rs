//! Counts what kernels execute in bytes that a fuzzer in the same process reads and clears after each input.

use simulator::{Device, FunctionId};
use std::hash::Hasher;
use std::sync::{Mutex, PoisonError};

use siphasher::sip::SipHasher13;

/// The fuzzer's bytes.
static COUNTERS: Mutex<Option<&'static mut [u8]>> = Mutex::new(None);

/// Grids are classified by the power of two of their number of blocks.
const GRIDS: usize = 32;

/// Counts in these bytes from now on: for each kernel a byte for each class of grid and each branch edge, saturating. Where a
/// kernel's bytes begin depends on its name only, so that processes agree on it; kernels may share some.
pub fn count_in(bytes: &'static mut [u8]) {
    *COUNTERS.lock().unwrap_or_else(PoisonError::into_inner) = Some(bytes);
}

/// Counts a finished launch of `function`, if counting is on.
pub fn count(device: &mut Device, function: FunctionId, grid: [u32; 3]) {
    let mut counters = COUNTERS.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(bytes) = counters.as_mut().filter(|bytes| !bytes.is_empty()) else { return };
    // A hash that no release of Rust changes: a corpus that was merged by one build is read by another.
    let mut hasher = SipHasher13::new();
    hasher.write(device.entry(function).name.as_bytes());
    let start = hasher.finish() as usize % bytes.len();
    let mut add = |place: usize, count: u64| {
        let byte = &mut bytes[(start + place) % bytes.len()];
        *byte = byte.saturating_add(u8::try_from(count).unwrap_or(u8::MAX));
    };
    let blocks = grid.iter().map(|&n| u64::from(n)).product::<u64>();
    add((blocks.ilog2() as usize).min(GRIDS - 1), 1);
    for (place, count) in device.new_counts(function).enumerate() {
        if count > 0 {
            add(GRIDS + place, count);
        }
    }
}
