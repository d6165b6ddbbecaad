//! The 3-D region that a copy or fill of a graph covers.

use crate::objects::codes::{Code, INVALID_VALUE, NOT_SUPPORTED};
use crate::objects::reports::report;
use std::ffi::c_uint;

/// One side of a copy, as `CUDA_MEMCPY3D` has it.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Side {
    /// Where it begins: bytes of a line, lines, planes, and the level of detail.
    pub at: [usize; 4],
    /// Whether it is memory of the host (1), the device (2), an array (3) or any (4).
    pub kind: c_uint,
    /// The host's memory.
    pub host: usize,
    /// The device's, or any.
    pub device: u64,
    /// An array.
    pub array: usize,
    /// Must be null.
    pub reserved: usize,
    /// The bytes from line to line, and the lines from plane to plane; of no meaning if there is one.
    pub pitch: usize,
    /// See above.
    pub height: usize,
}

/// A copy: `CUDA_MEMCPY3D`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Copy3 {
    /// What is read.
    pub from: Side,
    /// What is written.
    pub to: Side,
    /// The bytes of a line, lines of a plane, and planes.
    pub size: [usize; 3],
}

/// A fill: `CUDA_MEMSET_NODE_PARAMS`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fill {
    /// Where it begins.
    pub to: u64,
    /// The bytes from line to line; of no meaning if there is one.
    pub pitch: usize,
    /// What is written.
    pub value: c_uint,
    /// Its bytes: 1, 2 or 4.
    pub element: c_uint,
    /// How many a line has.
    pub width: usize,
    /// How many lines there are.
    pub height: usize,
}

impl Side {
    /// Refuses a copy that the device does not simulate, or whose lines overlap.
    fn check(&self, [width, lines, planes]: [usize; 3]) -> Result<(), Code> {
        if self.kind == 3 {
            report::unsupported("copies of arrays");
            return Err(NOT_SUPPORTED);
        }
        let overlap = lines.saturating_mul(planes) > 1 && self.pitch < width || planes > 1 && self.height < lines;
        if !matches!(self.kind, 1 | 2 | 4) || overlap || self.reserved != 0 || self.at[3] != 0 {
            return Err(INVALID_VALUE);
        }
        Ok(())
    }

    /// The address of a line.
    pub(crate) fn line(&self, line: usize, plane: usize) -> u64 {
        let [x, y, z, _] = self.at;
        let base = if self.kind == 1 { self.host as u64 } else { self.device };
        let lines = (z.wrapping_add(plane)).wrapping_mul(self.height).wrapping_add(y).wrapping_add(line);
        base.wrapping_add(lines.wrapping_mul(self.pitch).wrapping_add(x) as u64)
    }
}

impl Copy3 {
    pub(crate) fn check(&self) -> Result<(), Code> {
        self.from.check(self.size).and_then(|()| self.to.check(self.size))
    }
}

impl Fill {
    pub(crate) fn check(&self) -> Result<(), Code> {
        let bytes = self.width.saturating_mul(self.element as usize);
        let is_aligned = |at: usize| matches!(self.element, 1 | 2 | 4) && at.is_multiple_of(self.element as usize);
        let fits = self.height < 2 || self.pitch >= bytes && is_aligned(self.pitch);
        if is_aligned(self.to as usize) && fits && bytes > 0 && self.height > 0 { Ok(()) } else { Err(INVALID_VALUE) }
    }
}
