//! Pinned memory of the host.

use std::ffi::c_uint;

/// Pinned memory of the host.
pub struct Pinned {
    /// The context whose kernels access it.
    pub context: usize,
    pub bytes: u64,
    /// The flags that it was pinned with.
    pub flags: c_uint,
    /// Whether the program allocated it elsewhere, and registered it.
    pub is_registered: bool,
}
