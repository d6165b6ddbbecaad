//! The properties of a device.

use crate::objects::codes::{Code, INVALID_DEVICE, INVALID_VALUE, NO_DEVICE, NOT_INITIALIZED, SYSTEM_NOT_READY};
use crate::objects::driver::Driver;
use crate::objects::memory::array;
use std::ffi::{c_int, c_uint};

/// The shared memory, dynamic and static, that a kernel gets by default.
pub const SHARED: u32 = 48 << 10;

impl Driver {
    /// The device of an ordinal, which is also its `CUdevice`.
    pub(crate) fn device(&self, ordinal: c_int) -> Result<usize, Code> {
        if !self.initialized {
            return Err(NOT_INITIALIZED);
        }
        usize::try_from(ordinal).ok().filter(|&ordinal| ordinal < self.config.devices).ok_or(INVALID_DEVICE)
    }

    /// Starts the driver, if the configuration allows it.
    pub(crate) fn initialize(&mut self) -> Result<(), Code> {
        match self.config.devices {
            _ if self.malformed => Err(SYSTEM_NOT_READY),
            0 => Err(NO_DEVICE),
            _ => {
                self.initialized = true;
                Ok(())
            }
        }
    }

    /// The most shared memory that a kernel can be given.
    pub(crate) fn most_shared(&self) -> u32 {
        let kibibytes = match self.config.capability {
            (7, 0 | 2) => 96,
            (7, _) => 64,
            (8, 0 | 7) => 163,
            (8, _) | (12.., _) => 99,
            (9..=11, _) => 227,
            _ => 48,
        };
        kibibytes << 10
    }

    /// A property of every device, by its number in `CUdevice_attribute` or `cudaDeviceAttr`, which agree.
    pub(crate) fn attribute(&self, attribute: c_uint) -> Result<c_int, Code> {
        let (major, minor) = self.config.capability;
        let value = match attribute {
            // Threads of a block, and the dimensions of blocks and grids.
            1..=3 => 1024,
            4 => 64,
            5 => i32::MAX as u32,
            6 | 7 => 65535,
            8 => SHARED,
            // Constant memory, warp size, pitch, registers of a block, clock in kHz, texture alignment.
            9 => 64 << 10,
            10 => 32,
            11 => i32::MAX as u32,
            12 | 82 => 64 << 10,
            13 | 36 => 1_000_000,
            14 => 512,
            16 => self.config.multiprocessors,
            // The largest arrays: lines, planes, spaces, layers, cube maps, for textures and for surfaces.
            21 | 55 => array::LINE as u32,
            22 | 56 => array::PLANE[0] as u32,
            23 | 57 => array::PLANE[1] as u32,
            24..=26 | 58..=60 => array::SPACE as u32,
            27 | 28 | 42 | 52 | 53 | 61 | 63 | 64 | 66 | 67 => array::LAYER as u32,
            29 | 43 | 62 | 65 => array::LAYERS as u32,
            54 | 68 => array::CUBE_LAYERS as u32,
            // Overlap of copies, mapped host memory, concurrent kernels, unified addressing.
            15 | 19 | 31 | 41 => 1,
            // Bus width, size of the L2 cache, threads of a multiprocessor, copy engines, texture pitch.
            37 => 1024,
            38 => 4 << 20,
            39 => 2048,
            40 => 1,
            51 => 32,
            75 => major,
            76 => minor,
            // The L1 cache holds globals and locals; shared memory of a multiprocessor, and the most for a block.
            79 | 80 => 1,
            81 => self.most_shared() + 1024,
            // Managed memory, which the host may access while a kernel runs: there is none that does.
            83 | 89 => 1,
            97 => self.most_shared(),
            106 => 32,
            111 => 1024,
            // Registered memory of the host at its own address, and cooperative launches.
            91 | 95 | 99 => 1,
            // Memory pools: without them candle's allocations would take another path than on hardware.
            115 => 1,
            // The other attributes of CUDA 13.0: capabilities that this device lacks.
            17..=148 => 0,
            _ => return Err(INVALID_VALUE),
        };
        Ok(value as c_int)
    }
}
