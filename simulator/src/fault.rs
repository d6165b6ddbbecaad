//! What a kernel did wrong and where, as the driver and `compute-sanitizer` print it. Some faults end the launch, as on
//! hardware. Others are only reported, because hardware goes on after them.

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
    /// A free of an address where no live allocation begins.
    InvalidFree,
    /// An address that is not a multiple of the access's size.
    Misaligned,
    /// An access outside the arrays of shared or local memory, or the parameters.
    OutOfWindow,
    /// An access to bytes of a buffer outside the tensor's view.
    OutOfView,
    /// The kernel executed `trap`.
    Trap,
    /// No thread of a block can go on.
    Deadlock,
    /// Threads of a warp that wait at different barriers, or lanes that are not in the member mask they pass.
    Barrier,
    /// A loop that cannot end: its state repeats.
    Loop,
    /// The launch used up its budget of instructions.
    Budget,
    /// A value that was never written decides something.
    Uninitialized,
    /// Two unordered accesses, one of them a write.
    Race,
    /// Unordered work of two streams on the same memory.
    StreamRace,
    /// A fact, not a fault: arithmetic whose result is probably not intended.
    Arithmetic,
    /// A fact: blocks of a launch were left out.
    Sampled,
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
            Self::InvalidFree => "invalid free",
            Self::Misaligned => "misaligned",
            Self::OutOfWindow => "out of window",
            Self::OutOfView => "out of view",
            Self::Trap => "trap",
            Self::Deadlock => "deadlock",
            Self::Barrier => "barrier",
            Self::Loop => "infinite loop",
            Self::Budget => "budget",
            Self::Uninitialized => "uninitialized read",
            Self::Race => "race",
            Self::StreamRace => "stream race",
            Self::Arithmetic => "arithmetic",
            Self::Sampled => "sampled",
            Self::Unsupported => "unsupported",
        }
    }
}

/// A diagnosed fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// What went wrong.
    pub kind: Kind,
    /// The kernel's name as in the PTX, or the name of the function that the host called.
    pub kernel: String,
    /// The source file, as the compiler named it, and the line.
    pub source: Option<(String, u32)>,
    /// The line of the module's PTX, from 1; 0 for the host's own calls.
    pub ptx: u32,
    /// The block's coordinates.
    pub block: [u32; 3],
    /// The thread's coordinates.
    pub thread: [u32; 3],
    /// The faulting address.
    pub address: Option<u64>,
    /// What happened, in one line; for an assertion, its own line.
    pub detail: String,
    /// What is at the address.
    pub near: String,
    /// What else is known, a line each: the other side of a race, where memory was allocated, values that were compared.
    pub notes: Vec<String>,
}

/// As `compute-sanitizer` prints it, and an assertion as the driver does.
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            Kind::Unsupported => return write!(f, "snuffer-sim: unsupported: {}", self.message()),
            Kind::Arithmetic | Kind::Sampled => return write!(f, "snuffer-sim: fact: {}", self.message()),
            Kind::Assert => f.write_str(&self.detail)?,
            _ => write!(f, "========= {}", self.detail)?,
        }
        self.details().iter().try_for_each(|detail| write!(f, "\n=========     {detail}"))
    }
}

impl Fault {
    /// Everything that is known, in one line.
    pub fn message(&self) -> String {
        match self.kind {
            Kind::Unsupported => format!("{}: {}", self.kernel, self.detail),
            Kind::Arithmetic | Kind::Sampled => {
                let mut parts = vec![format!("{} {}", self.detail, self.position())];
                parts.extend(self.notes.iter().cloned());
                parts.join(", ")
            }
            _ => {
                let mut lines = self.details();
                lines.insert(0, self.detail.clone());
                lines.join("; ")
            }
        }
    }

    /// `at kernel() in file:line`
    fn position(&self) -> String {
        let source = self.source.as_ref().map(|(file, line)| format!(" in {file}:{line}"));
        format!("at {}(){}", self.kernel, source.unwrap_or_default())
    }

    /// The lines after the first.
    fn details(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if !self.kernel.is_empty() {
            lines.push(self.position());
        }
        // The host's own calls have no threads.
        if self.ptx > 0 {
            let ([bx, by, bz], [tx, ty, tz]) = (self.block, self.thread);
            lines.push(format!("by thread ({tx},{ty},{tz}) in block ({bx},{by},{bz})"));
        }
        if let Some(address) = self.address {
            let what = if self.kind == Kind::InvalidFree { "Address" } else { "Access to" };
            let how = match self.kind {
                Kind::InvalidFree => "not where a live allocation begins",
                Kind::Misaligned => "misaligned",
                Kind::UseAfterFree => "in memory that was freed",
                Kind::OutOfView => "outside the view",
                Kind::Uninitialized => "of memory that was never written",
                Kind::Race | Kind::StreamRace => "not ordered",
                _ => "out of bounds",
            };
            lines.push(format!("{what} 0x{address:x} is {how}"));
            if !self.near.is_empty() {
                lines.push(format!("and is {}", self.near));
            }
        }
        lines.extend(self.notes.iter().cloned());
        if self.ptx > 0 {
            lines.push(format!("in line {} of the PTX", self.ptx));
        }
        lines
    }
}
