//! How much a device has done: exact counts, which do not depend on the machine that simulates it.

/// The work of a device since it was last asked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Effort {
    /// The bytes that the host had copied: to the device, from it, and within it.
    pub copied: u64,
    /// The most memory that was in use at once, in bytes, beyond that of the start.
    pub peak: u64,
    /// The warp instructions of all launches.
    pub instructions: u64,
    /// Of the launches with little parallel work, that with the longest warp.
    pub serial: Option<Serial>,
}

/// A launch that keeps few warps busy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Serial {
    /// The kernel.
    pub kernel: String,
    /// The instructions of its longest warp: no device is faster than that.
    pub longest: u64,
}

/// A launch with less work for each instruction of its longest warp is serial. One multiprocessor issues instructions of four warps at a
/// time, and a warp waits several cycles for a result (CUDA C++ Programming Guide, "Multiprocessor Level").
const BUSY: u64 = 8;

impl Effort {
    /// Adds a launch of `kernel`, which executed so many instructions, the longest warp so many of them.
    pub(crate) fn add(&mut self, kernel: &str, instructions: u64, longest: u64) {
        self.instructions += instructions;
        let so_far = self.serial.as_ref().map_or(0, |serial| serial.longest);
        if instructions < BUSY * longest && longest > so_far {
            self.serial = Some(Serial { kernel: kernel.to_string(), longest });
        }
    }

    /// Adds what another device has done meanwhile.
    #[must_use]
    pub fn beside(self, other: Self) -> Self {
        let longest = |effort: &Self| effort.serial.as_ref().map_or(0, |serial| serial.longest);
        Self {
            copied: self.copied + other.copied,
            peak: self.peak + other.peak,
            instructions: self.instructions + other.instructions,
            serial: if longest(&other) > longest(&self) { other.serial } else { self.serial },
        }
    }
}
