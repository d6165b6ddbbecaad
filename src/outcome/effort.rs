//! How much a call has made its device do: exact counts, which do not depend on the machine or on time.

use serde::{Deserialize, Serialize};

/// The work of a device for a call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effort {
    /// The most memory that it had at once, in bytes, beyond its inputs: on the CPU all allocations, on a simulated device those of the
    /// device.
    pub memory: u64,
    /// The bytes that were copied between the host and the device, or within it. A device that is the host copies nothing.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub copied: u64,
    /// The warp instructions of all kernels.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub instructions: u64,
    /// The longest launch that keeps few warps busy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serial: Option<Serial>,
}

/// A launch that keeps few warps busy: on average fewer than eight.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Serial {
    /// The kernel.
    pub kernel: String,
    /// The instructions of its longest warp, one after the other.
    pub longest: u64,
}

/// The work of a device for a case, by phase.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Efforts {
    /// The op's call.
    pub forward: Effort,
    /// The backward pass, with the sum that it begins at.
    #[serde(default, skip_serializing_if = "Effort::is_small")]
    pub backward: Effort,
    /// The memory that each call of a repeated one leaves behind.
    #[serde(default, skip_serializing_if = "Growth::is_none")]
    pub growth: Growth,
}

/// Memory that grows with each call, in bytes: the least by which it grew in each part of many calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Growth {
    /// Memory of the host, as the program's allocator counts it.
    pub host: u64,
    /// Memory of the device, as the driver counts it.
    pub device: u64,
}

impl Growth {
    /// True if no memory grows.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

impl Effort {
    /// Memory that any call may need, in bytes: buffers of libraries and of files.
    pub const ANY_MEMORY: u64 = 2 << 20;
    /// Bytes that any call may copy: shapes and strides for kernels.
    pub const ANY_COPIES: u64 = 1 << 17;
    /// Instructions, one after the other, that any call may need: a fraction of a millisecond.
    pub const ANY_INSTRUCTIONS: u64 = 50_000;

    /// Whether any call may do as much.
    pub fn is_small(&self) -> bool {
        let Self { memory, copied, instructions, serial } = self;
        let longest = serial.as_ref().map_or(0, |serial| serial.longest);
        let is_small = *memory <= Self::ANY_MEMORY && *copied <= Self::ANY_COPIES;
        is_small && longest.max(*instructions) <= Self::ANY_INSTRUCTIONS
    }
}

impl Efforts {
    /// `None` if any call may do as much: there is nothing to judge.
    #[must_use]
    pub fn unless_small(self) -> Option<Self> {
        let is_small = self.forward.is_small() && self.backward.is_small() && self.growth.is_none();
        (!is_small).then_some(self)
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's form")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}
