//! A loaded module.

use simulator::ModuleId;
use std::collections::HashMap;
use std::ffi::CString;

/// A loaded module.
pub struct Module {
    pub context: usize,
    pub id: ModuleId,
    /// Handles of the functions that were looked up: candle does so before every launch.
    pub functions: HashMap<CString, usize>,
}
