//! Judges what a case costs with two candles: only a large factor counts, of what takes long enough to be measured.

use super::{Change, Class};
use crate::device::Device;

/// What one run of a case costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spent {
    /// Processor time, in microseconds.
    pub processor_us: u64,
    /// By how much it raises the peak of the memory, in KiB.
    pub peak_kib: u64,
}

/// A machine that is busy makes caches slow, and so processor time longer, but not by this factor.
const SLOWER: u64 = 4;

/// Less than this is not measured well, and hurts nobody.
const LEAST_US: u64 = 20_000;

/// Memory does not depend on what else runs.
const HUNGRIER: u64 = 2;

/// What an allocator keeps may differ by less.
const LEAST_KIB: u64 = 32 << 10;

/// Whether a case costs more with the head than with the base, by a factor that says something.
pub fn costlier(device: Device, base: Spent, head: Spent) -> Vec<Change> {
    let change = |class, does: &str, detail| Change { class, signature: None, site: does.to_string(), device, detail };
    let mut found = Vec::new();
    if head.processor_us >= base.processor_us * SLOWER && head.processor_us >= base.processor_us + LEAST_US {
        let [before, after] = [base, head].map(|spent| spent.processor_us as f64 / 1e3);
        let detail = format!("{before:.1} ms of processor time before, {after:.1} ms after");
        found.push(change(Class::Slower, "is slower", detail));
    }
    if head.peak_kib >= base.peak_kib * HUNGRIER && head.peak_kib >= base.peak_kib + LEAST_KIB {
        let detail = format!("{} MiB of memory before, {} MiB after", base.peak_kib >> 10, head.peak_kib >> 10);
        found.push(change(Class::Hungrier, "needs more memory", detail));
    }
    found
}
