//! What a kernel did wrong, where, and how the driver and `compute-sanitizer` would say it.

use std::fmt;

/// The kind of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A device-side assertion failed.
    Assert,
    /// An access outside every live allocation.
    OutOfBounds,
    /// An access to an allocation that was freed.
    UseAfterFree,
    /// An address that is no multiple of the access's size.
    Misaligned,
    /// An access outside the shared or local window, or the parameters.
    OutOfWindow,
    /// The kernel executed `trap`.
    Trap,
    /// No thread of a block can go on.
    Deadlock,
    /// The launch used up its budget of instructions.
    Budget,
    /// The simulator cannot execute this; the kernel may be right.
    Unsupported,
}

impl Kind {
    /// The kind in one word, as in a signature.
    pub fn name(self) -> &'static str {
        match self {
            Self::Assert => "assert",
            Self::OutOfBounds => "out of bounds",
            Self::UseAfterFree => "use after free",
            Self::Misaligned => "misaligned",
            Self::OutOfWindow => "out of window",
            Self::Trap => "trap",
            Self::Deadlock => "deadlock",
            Self::Budget => "budget",
            Self::Unsupported => "unsupported",
        }
    }
}

/// A diagnosed fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// What went wrong.
    pub kind: Kind,
    /// The kernel's name as in the PTX; empty for a copy or fill by the host.
    pub kernel: String,
    /// The source file, as the compiler named it, and the line.
    pub source: Option<(String, u32)>,
    /// The block's coordinates.
    pub block: [u32; 3],
    /// The thread's coordinates.
    pub thread: [u32; 3],
    /// The address at fault.
    pub address: Option<u64>,
    /// What happened, in one line; the assertion's own line where it is one.
    pub detail: String,
    /// What lies at the address.
    pub near: String,
}

/// As `compute-sanitizer` prints it, and an assertion as the driver does: one parser reads all three.
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            Kind::Assert => return f.write_str(&self.detail),
            Kind::Unsupported => return write!(f, "snuffer-sim: unsupported: {}: {}", self.kernel, self.detail),
            _ => {}
        }
        write!(f, "========= {}", self.detail)?;
        let ([bx, by, bz], [tx, ty, tz]) = (self.block, self.thread);
        if !self.kernel.is_empty() {
            write!(f, "\n=========     at {}()", self.kernel)?;
            if let Some((file, line)) = &self.source {
                write!(f, " in {file}:{line}")?;
            }
            write!(f, "\n=========     by thread ({tx},{ty},{tz}) in block ({bx},{by},{bz})")?;
        }
        let Some(address) = self.address else { return Ok(()) };
        let how = match self.kind {
            Kind::Misaligned => "misaligned",
            Kind::UseAfterFree => "in memory that was freed",
            _ => "out of bounds",
        };
        write!(f, "\n=========     Access to 0x{address:x} is {how}")?;
        if self.near.is_empty() { Ok(()) } else { write!(f, "\n=========     and is {}", self.near) }
    }
}
