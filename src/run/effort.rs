//! Measures what a call makes its device do: the CPU's allocations, which the program's allocator counts here, or the counts of the
//! simulated driver. Nobody counts on a real GPU.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use crate::outcome::Effort;

/// Whether allocations count.
static COUNTS: AtomicBool = AtomicBool::new(false);
/// The bytes that are allocated, less those that are freed, and the most that this was.
static LIVE: AtomicI64 = AtomicI64::new(0);
static PEAK: AtomicI64 = AtomicI64::new(0);

/// Counts an allocation, or a free by a negative number of bytes.
pub fn allocated(bytes: i64) {
    if COUNTS.load(Ordering::Relaxed) {
        let live = LIVE.fetch_add(bytes, Ordering::Relaxed) + bytes;
        PEAK.fetch_max(live, Ordering::Relaxed);
    }
}

/// Does `work` while allocations count from 0.
pub fn counting<T>(work: impl FnOnce() -> T) -> T {
    LIVE.store(0, Ordering::Relaxed);
    PEAK.store(0, Ordering::Relaxed);
    COUNTS.store(true, Ordering::Relaxed);
    let done = work();
    COUNTS.store(false, Ordering::Relaxed);
    done
}

/// The bytes that are allocated now, less those that were allocated before allocations counted.
pub fn live() -> i64 {
    LIVE.load(Ordering::Relaxed)
}

/// What `work` makes `device` do. Another thread that works meanwhile is counted, too: workers run candle on one.
pub fn of<T>(device: &candle_core::Device, work: impl FnOnce() -> T) -> (T, Effort) {
    if device.is_cpu() {
        let done = counting(work);
        let memory = PEAK.load(Ordering::Relaxed).unsigned_abs();
        return (done, Effort { memory, ..Effort::default() });
    }
    simulated::take();
    let done = work();
    (done, simulated::take().unwrap_or_default())
}

#[cfg(feature = "cuda")]
mod simulated {
    use std::sync::OnceLock;

    use libloading::os::unix::{Library, Symbol};

    use crate::outcome::{Effort, Serial};

    type Take = unsafe extern "C" fn(*mut [u64; 4], *mut u8, usize);

    /// Takes what the simulated devices have done since the last call; `None` if the driver is a real one.
    pub fn take() -> Option<Effort> {
        static TAKE: OnceLock<Option<Symbol<Take>>> = OnceLock::new();
        #[allow(unsafe_code, reason = "the function of this name has this type")]
        // SAFETY: as above.
        let find = || unsafe { Library::this().get(b"snuffer_sim_take_effort\0").ok() };
        let take = TAKE.get_or_init(find).as_ref()?;
        let (mut numbers, mut kernel) = ([0; 4], [0; 256]);
        #[allow(unsafe_code, reason = "both live as long as the call")]
        // SAFETY: as above.
        unsafe {
            take(&raw mut numbers, kernel.as_mut_ptr(), kernel.len());
        }
        let [copied, memory, instructions, longest] = numbers;
        let name = kernel.split(|&byte| byte == 0).next().unwrap_or_default();
        let kernel = String::from_utf8_lossy(name).into_owned();
        let serial = (longest > 0).then_some(Serial { kernel, longest });
        Some(Effort { memory, copied, instructions, serial })
    }
}

#[cfg(not(feature = "cuda"))]
mod simulated {
    use crate::outcome::Effort;

    /// This build has no devices but the CPU.
    pub fn take() -> Option<Effort> {
        None
    }
}
