//! What of each kernel was executed.

/// How far one kernel was explored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelCoverage {
    /// The kernel's name.
    pub kernel: String,
    /// The source file that its module was compiled from.
    pub file: String,
    /// How often it was launched.
    pub launches: u64,
    /// How often each block was entered; empty where the kernel was never launched.
    pub blocks: Vec<u64>,
    /// Every conditional branch.
    pub branches: Vec<Branch>,
}

/// A conditional branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branch {
    /// Its line in the source, 0 where unknown.
    pub line: u32,
    /// How often some lane did not take it, and did.
    pub counts: [u64; 2],
}
