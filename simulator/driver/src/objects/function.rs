//! A kernel of a loaded module.

use simulator::FunctionId;

/// A kernel of a loaded module.
pub struct Function {
    pub context: usize,
    pub id: FunctionId,
    /// The most dynamic shared memory of a launch.
    pub dynamic_shared: u32,
}
