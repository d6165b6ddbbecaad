//! A loaded module, and its kernels.

use simulator::{FunctionId, ModuleId};
use std::collections::HashMap;
use std::ffi::CString;

/// A loaded module.
pub struct Module {
    pub context: usize,
    pub id: ModuleId,
    /// Handles of the functions that were looked up: candle does so before every launch.
    pub functions: HashMap<CString, usize>,
}

/// A kernel of a loaded module.
pub struct Function {
    pub context: usize,
    pub id: FunctionId,
    /// The most dynamic shared memory of a launch.
    pub dynamic_shared: u32,
}
