//! Which mutant of candle's host code is on, and which ones this process reached. `cargo xtask host-mutants` adds this file to
//! its copy of candle-core.

use std::fs::OpenOptions;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU8, Ordering};

struct Switch {
    /// The number of the mutant that is on; none has the largest.
    on: usize,
    /// A byte for each mutant: 1 if its place was reached. Shared with `snuffer`, which reads and clears it.
    reached: &'static [AtomicU8],
}

static SWITCH: LazyLock<Switch> = LazyLock::new(|| {
    let on = std::env::var("SNUFFER_HOST_MUTANT").ok().and_then(|number| number.parse().ok()).unwrap_or(usize::MAX);
    Switch { on, reached: shared().unwrap_or_default() }
});

/// The bytes of the file that `SNUFFER_HOST_REACHED` names.
fn shared() -> Option<&'static [AtomicU8]> {
    let file = OpenOptions::new().read(true).write(true).open(std::env::var_os("SNUFFER_HOST_REACHED")?).ok()?;
    // SAFETY: `snuffer` made the file for this process, and neither side changes its length.
    let map = Box::leak(Box::new(unsafe { memmap2::MmapMut::map_mut(&file) }.ok()?));
    // SAFETY: the map is this long and never unmapped, and an atomic byte is a byte.
    Some(unsafe { std::slice::from_raw_parts(map.as_mut_ptr().cast(), map.len()) })
}

/// Whether the mutant `number` is on. Marks it as reached.
#[inline(always)]
pub fn switched(number: usize) -> bool {
    let switch = &*SWITCH;
    if let Some(reached) = switch.reached.get(number) {
        reached.store(1, Ordering::Relaxed);
    }
    switch.on == number
}
