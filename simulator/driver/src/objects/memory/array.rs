//! CUDA arrays: what a program asked for. Nothing reads or writes them, as copies and textures are not simulated.

use crate::objects::codes::{Code, INVALID_VALUE};

/// What an array is to be: `CUDA_ARRAY3D_DESCRIPTOR`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Descriptor {
    /// Elements in each direction; 0 where there is no such direction. The depth of a layered array is that of its layers.
    pub size: [usize; 3],
    /// What an element is of: `CUarray_format`.
    pub format: u32,
    /// How many numbers an element has.
    pub channels: u32,
    /// What else it is.
    pub flags: u32,
}

/// An array.
pub struct Array {
    pub(crate) context: usize,
    pub(crate) descriptor: Descriptor,
}

// Of `flags`.
const LAYERED: u32 = 1;
const CUBEMAP: u32 = 4;
const KNOWN_FLAGS: u32 = 0xf;
/// Integers of 8, 16 and 32 bits, with and without a sign, and floats of 16 and 32 bits.
const FORMATS: [u32; 8] = [1, 2, 3, 8, 9, 10, 16, 32];

/// The largest sizes, as devices of compute capability 9.0 have them.
pub(crate) const LINE: usize = 131_072;
pub(crate) const PLANE: [usize; 2] = [131_072, 65_536];
pub(crate) const SPACE: usize = 16_384;
/// Of a layered line, plane or cube map: in each direction.
pub(crate) const LAYER: usize = 32_768;
pub(crate) const LAYERS: usize = 2048;
pub(crate) const CUBE_LAYERS: usize = 2046;
const FACES: usize = 6;

impl Descriptor {
    /// Whether a device can have such an array.
    pub(crate) fn check(&self) -> Result<(), Code> {
        let Self { size: [width, height, depth], format, channels, flags } = *self;
        let is_element = FORMATS.contains(&format) && matches!(channels, 1 | 2 | 4) && flags & !KNOWN_FLAGS == 0;
        let is_square = width == height && width <= LAYER;
        let fits = match (flags & CUBEMAP != 0, flags & LAYERED != 0, height, depth) {
            (true, false, ..) => is_square && depth == FACES,
            (true, true, ..) => is_square && depth > 0 && depth % FACES == 0 && depth <= CUBE_LAYERS,
            (false, true, _, layers) => layers > 0 && layers <= LAYERS && width.max(height) <= LAYER,
            (false, false, 0, 0) => width <= LINE,
            (false, false, _, 0) => width <= PLANE[0] && height <= PLANE[1],
            (false, false, 0, _) => false,
            (false, false, ..) => width.max(height).max(depth) <= SPACE,
        };
        if width > 0 && is_element && fits { Ok(()) } else { Err(INVALID_VALUE) }
    }
}
