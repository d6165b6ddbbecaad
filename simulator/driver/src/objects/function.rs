//! A kernel of a loaded module.

use simulator::FunctionId;

/// A kernel of a loaded module.
pub struct Function {
    pub context: usize,
    pub id: FunctionId,
    /// The dynamic shared memory that a launch may ask for.
    pub dynamic_shared: u32,
}
